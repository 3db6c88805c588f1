"""What the tutor says of itself, the same to everyone."""

WHO_I_AM = (
    "I am a program, not a person. I answer from this lesson, from what its author lets me say, and from the report on "
    "your last attempt; I make nothing up, and I say so when I do not know."
)
COUNTER = (
    "How many messages you have left, and when they come back, is shown beside the box you type in. Checks, runs and "
    "hints cost no messages, however many you use."
)
NOT_SEEN = "I am not given the solution, nor anyone else's work. “What the tutor sees” shows it to you word for word."
PASSED = (
    "Everything is right: all checks of your last attempt passed. Go on to the next exercise of the lesson; the steps "
    "above the task lead there."
)
ONLY_THIS = "I can only help with this exercise, its lesson and the PyTorch that they use."
COSTS_NOTHING = "costs no message"
GOES_ON = (
    "When they are gone, only this chat with the tutor pauses; you are not locked out: running and checking your code, "
    "its results and diagnosis, hints and lessons go on as before, as often as you like."
)
HOW_TO_GET_MORE = "The page “Plan” in your account says what each plan has and how one gets more here."
