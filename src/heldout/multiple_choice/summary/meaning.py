"""What a verdict on printed orders means, what it does not, and what to do next."""

from __future__ import annotations

from heldout import summary as page
from heldout.multiple_choice.result import MOST_UNREAD, OptionsResult
from heldout.multiple_choice.summary.words import READABLE, is_worse

MEANT = {
    "depends on the printed order": "The model is right as printed more often than its own answers in other orders "
    "explain. By chance alone a model that has nothing to do with the printed orders does as well with a probability "
    "of at most {p}. Where none of the points below applies, the likely reason is that it has met the benchmark, or "
    "something that was made from it, in this order or with these letters.",
    "no dependence found": "The printed orders are to this model as others are, as far as this test sees: look at the "
    "detectable share.",
    "cannot tell": "Nothing, for the model or against it: there was too little to compare.",
}
WORSE_MEANT = (
    "The model is wrong as printed more often than its own answers in other orders explain. Having seen the benchmark "
    "does not do that; a printed order that is harder than others does, for example with the most tempting wrong "
    "option first, or a run as printed that was made in another way."
)
SORTED_MEANT = (
    "The model is right as printed more often than its own answers in other orders explain: either it has met the "
    "benchmark, or it does better with options sorted as these are; this test cannot tell which."
)
NOT_MEANT = (
    "A model that knows the text of the answers by heart is right in every order, and is not found here: this is about "
    "the printed order, or the printed letters, and nothing else.",
    "An honest model stands out where benchmark and model share a habit that the test takes to be arbitrary, such as "
    "the most plausible wrong option next to the right one.",
    "An honest model stands out, too, where some sources print the answer at other places than others do, and are "
    "harder or answered by habit: tell them apart with --strata, or by giving each source as a file of its own.",
    "An honest model stands out where one order was chosen for many items at once. Of items with the same options one "
    "is tested for that reason, unless orders are declared to be shuffled; items that share some options are all kept, "
    "and whether these stand in one order is checked.",
    "An item on the list is a suspect, not a culprit: some are best in the printed order by chance.",
)
RUNS_NOT_MEANT = (
    "The printed order is a run of its own here: whatever else that run had for itself, such as another date, another "
    "server, or another version of the model under the same name, looks like knowledge of the printed order."
)
NEXT = "What to do next"
NEXT_ALONE = (
    "Ask for a letter with all options in sight, as `--endpoint` and `--hf` do, the solver `multiple_choice` of "
    "inspect_ai, and those tasks of lm-evaluation-harness whose choices are letters (mmlu is one).",
)
NEXT_FOUND = (
    "Report the score over shuffled orders instead of the printed one.",
    "Read the items at the top of the list, and look for the benchmark as printed in the training data.",
    "Compare with a model that is older than the benchmark: it should not stand out.",
)
NEXT_WORSE = (
    "Compare the items that are wrong as printed and right in other orders: what do their printed orders share?",
    "Where the orders are from several runs, run all of them again together.",
)
NEXT_QUIET = (
    "More items find smaller shares: the detectable share falls with the square root of their number.",
    "For the texts of questions and answers rather than their order: `heldout exposure`, or `heldout audit --scores` "
    "with fresh items.",
)
NEXT_ORDERS = {
    True: "Add runs in more orders, drawn for each item by itself, so that the answer keeps its place in some of them.",
    False: "Ask in more orders of each item (--orders all, or a number), so that the answer keeps its place in some.",
}
NEXT_UNREAD = (
    "A model that refuses to answer, or cannot follow the format in any order, cannot be tested this way; one that is "
    "run from a folder (--hf) tells log-probabilities of the letters, which can always be read.",
)


def meant(result: OptionsResult) -> str:
    """What the verdict means."""
    if is_worse(result):
        return WORSE_MEANT
    if result.verdict == "depends on the printed order" and any(check.is_found for check in result.sorted):
        return SORTED_MEANT
    return MEANT[result.verdict].format(p=page.p_text(result.p_value))


def not_meant(result: OptionsResult) -> tuple[str, ...]:
    """What it does not mean."""
    return (*NOT_MEANT, *([RUNS_NOT_MEANT] if result.kind == "logged" else []))


def next_steps(result: OptionsResult) -> tuple[str, ...]:
    """The ways on."""
    if is_worse(result):
        return NEXT_WORSE
    if result.verdict == "depends on the printed order":
        return NEXT_FOUND
    if result.verdict == "cannot tell":
        unread, logged = result.unparsed > MOST_UNREAD * result.n_answers, result.kind == "logged"
        if result.complete is not None and not unread:
            return READABLE[True], NEXT_ORDERS[True]
        return (READABLE[logged], *NEXT_UNREAD) if unread else (NEXT_ORDERS[logged],)
    return NEXT_QUIET
