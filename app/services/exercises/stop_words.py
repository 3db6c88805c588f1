"""Words of questions rather than of what they are about: the search and the offline tutor look for none of them."""

_SAYING_LITTLE = "look looks looking difference different between fine hmm line long practice"
STOP_WORDS = frozenset(_SAYING_LITTLE.split()) | frozenset(
    """
    a about all also always am an and any anything are aren't arent as at be because been being but by can can't
    cant could couldn't did didn't didnt do does doesn't doesnt doing don't dont else etc even ever every
    exactly explain for from get gets getting give given go goes going got had has have he hello help her here
    hers hey hi his how however i i'm im if in instead into is isn't isnt it it's its just kind know let like
    made make makes making many may me mean means might more most much must my need needs no not now of off ok
    okay on only or other our out over own please quite rather really right say saying says see she should show
    since so some somehow someone something sorry still such t take tell than that that's thats the their them
    then there these they thing things think this those though to too try trying u understand until up us use
    used using ve very want wants was way we well were what what's whats wat waht when where which while who why
    will with without won't wont work works would yeah yes you your yours good problem exist happen happens
    """.split()  # noqa: SIM905  a list would take a line for each
)
