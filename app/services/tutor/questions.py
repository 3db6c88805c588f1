"""
What kind of question it is, as far as its words alone show it.

The kinds are tried in order, so the earlier ones win: whoever wants the answer written is told how to get on, however
politely it is wrapped. A question taken for the wrong kind is answered less well, but never with the answer: no kind
of reply is made from it.
"""

import re
from enum import Enum

from app.services.tutor.language import folded


class Kind(Enum):
    """What a student wants."""

    STUCK = "stuck"  # nothing but "help" or "???"
    ANSWER = "answer"  # wants it written
    PERSON = "person"  # is it a human, what is it
    COUNT = "count"  # messages left
    SIGHT = "sight"  # what it can see
    GREETING = "greeting"
    THANKS = "thanks"
    ELSEWHERE = "elsewhere"  # another subject
    HINT = "hint"
    NEXT = "next"
    VERIFY = "verify"  # is this right
    CHECK = "check"  # what does a check want
    SHAPE = "shape"
    ERROR = "error"
    WRONG = "wrong"  # what is wrong with mine
    AGAIN = "again"  # did not follow the last answer
    FOREIGN = "foreign"  # another language
    IDEA = "idea"  # everything else


_THING = (
    r"(answer|solution|result|code|lines?|snippet|program|script|exercise|task|homework|assignment|implementation|blanks?|"
    r"rest|statement|body|function|class|right[- ]hand side|one[- ]?liner|expression|syntax|everything|command)"
)
_GIVE = (
    r"(give|gimme|show|tell|send|write|type|print|paste|reveal|provide|complete|finish|fill|solve|spell|dictate|"
    r"output|generate|repeat|hand|display|share|produce|post|leak|dump|quote|translate|convert|encode|say|recite|read|copy|"
    r"need|want|have|get|see|make|return|explain)"
)
_DEMANDS = (
    rf"\b{_GIVE}\b(?! (which|what|how|why|where))(\W+\w+){{0,5}}?\W+(full|complete|correct|right|final|whole|exact|reference|model|"
    rf"sample|missing|actual|real|finished|working)\W+(\w+\W+)?{_THING}\b",
    rf"\b{_GIVE}\b(\W+(me|us|out|down|up|in|just|it|all|please|pls|only|mir))*\W+(the|a|an|your|my|this|that|these|all|some|it)?"
    rf"\W*(\w+\W+)?(answer|solution|code|lines?|blanks?|rest|homework|assignment|snippet|exercise|task|implementation)\b",
    r"\b(do|solve|finish|complete|write|code|make|fix) (it|this|that|everything|the \w+|my \w+|all)( \w+)? ?(for me|4 me|now|please|pls|already|yourself)\b",
    r"\b(solve|finish|complete|implement) (it|this|that|everything|mine|my|the)\b",
    r"\b(write|type|spell|code) (it|this|that|them|out|the|my|me|down)\b(?!.*\bessay|.*\bpoem)",
    r"_{2,}|\.\.\.+ ?$(?<=pos = \.\.\.)|\b\w+ ?= ?(\?+|_+|\.{2,}|<\w*>|\[\s*\]|x{3,}|$)",
    r"\bwhat (do|should|must|would|can|shall|could|to|will) ?(i|you|one|we|u)? ?(have to |need to |actually |then |exactly |literally )?(write|type|put|enter|code|paste|insert|fill)\b",
    r"\b(how|what) (would|do|will|did) (you|u) (write|do|solve|code|type|put|implement|answer)\b",
    r"\bwhat (goes|comes|stands|belongs|should (stand|be|go|come)|is supposed to (be|go|stand)) (in|on|at|after|behind|right|to|between|there|here)\b",
    r"\bwhat('?s| is| are| was)? (the|my|your) (\w+ )?(answer|solution|right line|correct (line|code)|code|missing (line|code|piece|word)|number\b(?! of)|line (for|of)|right[- ]hand side)",
    r"\b(answer|solution|code|spoiler)s?[ ,!.]*(pls|plz|please|now|only|asap|here)?[!.?]*$",
    r"\b(ignore|forget|disregard|override|bypass|skip) (all|any|your|the|previous|prior|every|those|these)\b",
    r"\b(developer|dev|debug|admin|god|dan|jailbreak|test|teacher|instructor) mode\b|\bsystem (prompt|message)\b|\bprompt\b.*\b(reveal|print|show)",
    r"\b(pretend|imagine|role ?-?play|act as|act like|you are now|you're now|from now on|simulate|suppose you)\b",
    r"\b(teacher|professor|instructor|boss|mum|mom|tutor|admin|prof|school|lecturer|ta)\b.{0,30}\b(said|says|told|allow|allowed|permitted|wants you|asked you|ok|okay)",
    r"\bi('m| am| m) (the|a|an|your|actually)? ?(teacher|instructor|professor|author|admin|developer|owner|creator|grader)",
    r"\b(no time|in a hurry|deadline|due (today|tomorrow|in)|i give up|giving up|life or death|will (pay|tip)|my grandm)",
    r"\b(rot13|base64|backwards|reversed|morse|pig latin|acrostic|pseudo-?code|letter by letter|word by word|token by token|one word at a time|as a (poem|song|story|comment))\b",
    r"\bfirst (letter|word|character|half) of (each|the|every)\b|\b(word|character|letter) (number )?\d+ of the\b",
    r"\b(translate|convert|rewrite|port) (the|my|your) (solution|answer|code)",
    r"\bone (possible|valid|working) (solution|way|answer)|\ban? (example|sample) (solution|answer)|\bworking (version|code|example)",
    r"\b(correct|fix|repair|debug|refactor|improve|edit|modify|rewrite) (my|this|the|it)( \w+)? ?(code|lines?|program|version|answer|for me|please|pls)?[!.?]*$",
    r"\bjust (tell|give|show|say) (me|it)\b|\btell me (already|exactly)\b|\bspoil\b|\bcheat\b",
    r"\b(autocomplete|continue|extend) (it|this|my|the|from|after)?\b.*=",
)
_FOREIGN_DEMANDS = (
    # German, Dutch
    r"\b(losung|loesung|antwort|musterlosung|musterloesung|quellcode|quelltext)\b|\b(gib|zeig|schreib|sag|nenn|mach|verrat|los)e?\b.{0,20}\b(mir|mal|das|den|die|es)\b",
    r"\bvervollstandig|\bwie (lautet|heisst|schreib)|\bwas (muss|soll|kommt|gehort).{0,25}(schreiben|hin|eintippen|eingeben|rein|eintragen)\b|\b(geef|oplossing|antwoord|schrijf)\b",
    # French
    r"\b(reponse|donne[zs]?|ecri[st]|ecrivez|montre[zs]?|complete[zs]?|resou[sd]|resolvez|dis|corrige[zs]?)[- ](moi|le|la|les|ce|mon|l')|\bla (solution|reponse)\b|\bqu'?est[- ]ce que? .{0,20}(ecrire|mettre|taper)\b",
    # Spanish, Portuguese, Italian
    r"\b(respuesta|solucion|resposta|solucao|risposta|soluzione|codigo|codice)\b|\b(dame|dime|escribe(me)?|escribeme|muestra(me)?|resuelve(lo)?|completa|hazlo|escreva|mostre|scrivi(mi)?|dammi|dimmi|risolvi)\b",
    # Polish, Czech, Turkish, Russian, Ukrainian, Greek, Arabic, Hindi, Chinese, Japanese, Korean
    r"rozwiazanie|odpowiedz|\breseni\b|\bcevab|\bcozum|ответ|решени|напиши|код|відповід|розв'яз|απαντηση|λυση|الحل|الجواب|اجابة|उततर|हल|答案|代码|代碼|解答|答え|コ.ト|정답|해답|코드|답",
)
_KINDS: tuple[tuple[Kind, str], ...] = (
    (Kind.COUNT, r"\b(how many|number of|any|run out of|what.*left).{0,25}\b(messages?|questions?|credits?|prompts?|tries)\b|\b(messages?|quota)\b.{0,20}\b(left|remain|limit|cost)|\bcost.{0,20}message"),
    (Kind.PERSON, r"\b(are|r) (you|u) (\w+ )?(human|real|bot|robot|ai|person|machine|chatgpt|gpt|llm|program|alive|sentient)|\bwho (are|r|made|built) (you|u)\b|\bwhat are you\b|\byour name\b|\btalking to (a|an) (\w+)"),
    (Kind.SIGHT, r"\b(can|do|could|did) (you|u) (even |actually |also )?(see|read|look at|know|have|access|remember|watch)\b.{0,30}\b(my|code|editor|screen|answer|solution|work|others?|i wrote)|\bwhat (can|do) (you|u) (see|know about me)\b"),
    (Kind.THANKS, r"^\W*(thanks?|thank you|thx|ty|merci|danke|gracias|cheers|great|cool|perfect|awesome|nice|ok|okay|got it|i see|makes sense|super|that helped|it works?( now)?|solved)\b(?!.*\b(but|still|fail|wrong|red|not|how|why|what|with)\b)[^?]{0,40}$"),
    (Kind.GREETING, r"^\W*(hi|hello|hey|hallo|hola|bonjour|salut|yo|good (morning|evening|day|afternoon)|moin|servus|ciao|sup)\b[^?]{0,25}\??$"),
    (Kind.ELSEWHERE, r"\b(essay|poem|song|joke|weather|football|soccer|recipe|president|movie|girlfriend|boyfriend|pizza|bitcoin|lottery|horoscope|capital of|history|napoleon|politics|election|cooking|dinner|game of|stock market|love you|marry|biology|chemistry|homework in|birthday|holiday|translate (this|the) (sentence|letter|text))\b"),
    (Kind.HINT, r"\b(a|another|next|one|more|small|any|the|some) (small |little |tiny )?(hint|clue|tip|nudge|pointer)s?\b|^\W*hints?\W*$|\bhint \d\b"),
    (Kind.NEXT, r"\bwhat('?s| is| do i do| should i do| shall i do| to do| do i| now| comes)? ?(next|now|then|first)\b|\bwhat now\b|\bnow what\b|\bam i (done|finished|ready)\b|\bi('m| am| m) (done|finished)\b|\bwhere (do|should|to|can) (i |we )?(start|begin)\b|\bhow (do|should|to|can) (i )?(start|begin|continue|proceed|go on)\b|\bwhat('?s)? ?(is )?(still )?(missing|left)\b|\bnext step\b|\bdon'?t know where to|\bhow far\b|\bgo on to\b"),
    (Kind.VERIFY, r"^\W*(so )?(is|was|are) (it|this|that|my|these|mine)\b.{0,60}\b(right|correct|ok|okay|good|fine|true|enough)\b(?! (that|if|to|when|for|because)\b)|\bdid i (do|get|make)\b.{0,30}\b(right|correct)|\bcheck (my|this) (code|answer|work)|\bdoes (my|this) (code )?(look|seem|work)|\bam i (right|correct)|\bis (it|the answer) \W*\d|\b(right|correct)\?$"),
    (Kind.CHECK, r"\b(check|test|requirement|criterion)s?\b.{0,40}\b(want|mean|expect|look|ask|need|do|test|about|for|check)\b|\bwhat.{0,20}\b(check|test)s?\b|\bwhat (is|does) .{0,30}supposed to (be|hold|contain)|\bwhat (should|must) \S+ (be|hold|contain)\b"),
    (Kind.AGAIN, r"^\W*(i |still |sorry,? i )*(don'?t|do not|dont|didn'?t|still don'?t|cant|can'?t) (understand|get|follow|see)( it| that| this| you| what you mean)?\W*$|^\W*(why|how so|what|huh|pardon|and|so|meaning|how|explain|more|again|simpler|eli5|elaborate|details?|what do you mean|can you explain (more|again|that|it)|explain (more|again|that|it)|in simpler words|example)( please| pls| again)?\W*$"),
    (Kind.SHAPE, r"\[ ?\d+ ?(, ?\d+ ?)*\]|\b(shape|shapes|dimensions?|axis|axes|size of)\b"),
    (Kind.ERROR, r"\w+(error|exception)\b|\b(error|exception|traceback|crash|crashes|crashed|raises?|message mean)\b"),
    (Kind.WRONG, r"\b(wrong|fails?|failed|failing|red|broken|stuck|problem|mistake|bug|not work\w*|n[o']?t work\w*|isn'?t|aren'?t|arent|isnt|doesn'?t|doesnt|won'?t|incorrect|never (stops|ends|finishes|comes)|hangs?|frozen|forever|too (small|big|large|long|short|many|few)|to (small|big)|different|not (equal|right|the same|accepted)|rejected|off|fix|nan|timeout|times out|too slow|accept)\b"),
)  # fmt: skip
_HELP = re.compile(
    r"^\W*((please|pls|plz|can you|could you|i|need|some|me|help|helpp+|hilfe|ayuda|aide|aidez|sos|stuck|i'm|im|am|lost|"
    r"no idea|confused|totally|completely|so|really|ugh|argh|omg|idk|i don'?t know|dunno)\W*)*$"
)
_OTHER_TONGUES = re.compile(
    r"\b(ist|nicht|warum|und|das|der|die|wie|ich|was|eine?|pourquoi|est|pas|je|une?|les?|des|por|que|porque|como|es|el|"
    r"los|una?|para|mi|perche|non|come|sono|waarom|niet|het|jest|dlaczego|nie)\b"
)
_ENGLISH = re.compile(
    r"\b(the|is|what|why|how|my|it|to|of|a|and|i|in|do|does|you|not|can|are|this|that|was|be|have|has|with|for)\b"
)
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_DEMAND = re.compile("|".join(f"(?:{one})" for one in (*_DEMANDS, *_FOREIGN_DEMANDS)))
_ABOUT_GRADER = re.compile(r"\bhow (do|does|are|will) (you|it|my|this|the \w+) .{0,20}(check|grade|judge)")


def kind_of(question: str) -> Kind:
    """Return what kind of question it is."""
    text = folded(question)
    if _HELP.match(text):
        return Kind.STUCK
    first = next((kind for kind, pattern in _PATTERNS if pattern.search(text)), None)
    if first in {Kind.COUNT, Kind.PERSON, Kind.THANKS, Kind.ELSEWHERE} and not _demands(text, but_for=first):
        return first
    if _demands(text, but_for=None):
        return Kind.ANSWER
    if first is None and _ABOUT_GRADER.search(text):
        return Kind.IDEA
    if first in {None, Kind.WRONG} and _is_foreign(text):
        return Kind.FOREIGN
    return first or Kind.IDEA


def _demands(text: str, *, but_for: Kind | None) -> bool:
    # "Write my essay" is a demand too, but not for this exercise's answer.
    return but_for is not Kind.ELSEWHERE and _DEMAND.search(text) is not None


def _is_foreign(text: str) -> bool:
    return len(_OTHER_TONGUES.findall(text)) > 2 * len(_ENGLISH.findall(text)) or not re.search("[a-z]", text)
