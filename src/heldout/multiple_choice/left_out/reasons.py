"""Why items are left out: what each reason means."""

from __future__ import annotations

# By the question and the set of options alone, never by the printed order (`exchangeable.py`).
OF_ITEMS = {
    "references": 'an option refers to others, or to letters ("all of the above", "both A and C"), or all bear one',
    "positions": 'the question names an option by its place ("option B", "the second choice"), or lists them itself',
    "repeats": "two options are the same but for case, spaces and punctuation",
    "near_duplicates": "two options have the same words, or differ in one word of five or more",
    "dates": "all options, or all but one of four or more, are dates or times",
    "numbers": "all options, or all but one of four or more, are numbers or quantities",
    "conventional": 'custom gives the options an order ("always", "never"; "True", "False"; "I only", "I and II only")',
    "shared_options": "another item has the same options; printed in one order, all of them are one draw of an order",
    "duplicate_item": "the same question with the same options is there already, or more than once in a run",
}
# By the runs that are there (`logs/joined.py`).
OF_RUNS = {
    "in_no_run": "no run has this question with these options",
    "in_one_run": "only one of the runs has it, so that there is nothing to compare with",
    "one_order": "all runs show it in the same order",
    "not_run_as_printed": "no run shows it in the printed order",
    "not_in_every_run": "some of the runs that share questions with the others do not have it, or no answer to it",
    "another_answer": "some run takes another option to be the right one",
    "several_answers": "more than one option is right",
    "scored_one_by_one": "each option was scored by itself, so that no order was shown",
}
BROKEN = {
    "broken": "the row is not a complete item: a question, two options or an answer that names one of them is missing",
    "broken_question": "the row has no question",
    "broken_options": "the row has fewer than two options, an empty one, a text or label twice, or more than letters",
    "broken_answer": "the row has no answer, or one that names none of its options",
}
REASONS = {**OF_ITEMS, **OF_RUNS, **BROKEN}
