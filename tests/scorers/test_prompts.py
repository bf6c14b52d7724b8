"""What models are shown, and a table of how they answer."""

import pytest

from heldout.errors import InputError
from heldout.scorers.choices import UNPARSED, Shown
from heldout.scorers.prompts import CHAT, check_template, prompt, prompt_parts, read_choice

CITIES = ("Rome", "Oslo", "Bonn", "Paris")
A, B, C, D = range(4)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("B", B),
        (" b\n", B),
        ("(C)", C),
        ("**B**", B),
        ("`D`.", D),
        ("Answer: A", A),
        ("option c", C),
        ("C) Bonn", C),
        ("C. Bonn, since it was the capital.", C),
        ("D: Paris", D),
        ("A - Rome", A),
        ("B\n\nOslo is the capital of Norway, which option A is not.", B),
        ("**C) Bonn**", C),
        ("The answer is (C).", C),
        ("The correct answer is **D. Paris**.", D),
        ("The correct option is therefore B, as A is not in Norway.", B),
        ("I would go with option C.", C),
        ("I'd pick B because it fits.", B),
        ("Option A is correct.", A),
        ("(B) Oslo\nis my answer", B),
        ("The answer is A because Rome is in Italy.", A),
        ("First I thought the answer is A. But no: the answer is B.", B),
        ("Rome is in Italy, Bonn in Germany.\nStep 2: exclude C.\n\nAnswer: D", D),
        ("Let us see.\nA) Rome is in Italy.\nB) Oslo is in Norway.\nSo:\nB", B),
        (r"Hence $\boxed{C}$", C),
        (r"\[\boxed{\text{D}}\]", D),
        ("<think>The answer is A? No.</think>\n\nC", C),
        ("The answer is A? No.</think>C", C),
        ("Oslo", B),
        ("oslo.", B),
        ("The answer is Paris.", D),
        ("It is Bonn, I think.", C),
        ('"Rome"', A),
        # which say nothing, or several things, and are counted as unparsed
        ("", UNPARSED),
        ("E", UNPARSED),
        ("<think>The answer is A", UNPARSED),
        ("I'm sorry, but I can't help with that.", UNPARSED),
        ("As an AI model, I cannot choose an option.", UNPARSED),
        ("The answer is not A.", UNPARSED),
        ("The answer is A or B.", UNPARSED),
        ("The answer is A, B and C.", UNPARSED),
        ("A dog is a good guess.", UNPARSED),
        ("The answer is a matter of taste.", UNPARSED),
        ("A) Rome\nB) Oslo\nC) Bonn\nD) Paris", UNPARSED),
        ("Either (A) or (D).", UNPARSED),
        ("It is not Oslo.", UNPARSED),
        ("Oslo and Bonn are both in the north.", UNPARSED),
        ("None of them.", UNPARSED),
    ],
)
def test_answers(text, place):
    assert read_choice(text, CITIES) == place


def test_letters_and_texts_that_look_alike():
    vitamins = ("D", "C", "A", "B")
    assert read_choice("B", vitamins) == 1, "the letter was asked for"
    assert read_choice("E. coli", ("S. aureus", "E. coli", "C. difficile", "yeast", "algae")) == 1
    assert read_choice("I think so", tuple("abcdefghijk")) == UNPARSED, "I is a word"
    assert read_choice("New York", ("York", "New York")) == read_choice("It is New York.", ("York", "New York")) == 1
    assert read_choice("same", ("same", "Same")) == UNPARSED


def test_answers_do_not_depend_on_where_the_option_stands():
    for shift in range(4):
        shown = CITIES[shift:] + CITIES[:shift]
        for text in ("Oslo", "The answer is Oslo.", "I'd say Oslo"):
            assert shown[read_choice(text, shown)] == "Oslo"


def test_prompts():
    shown = Shown("What does {options} mean in `{x}`?", ("{question}", "b"))
    assert prompt(shown) == "What does {options} mean in `{x}`?\nA. {question}\nB. b\nAnswer:", "braces are theirs"
    assert "".join(prompt_parts(shown, CHAT)) == prompt(shown, CHAT)
    assert prompt(Shown("?", ("x", "y", "z")), CHAT).endswith("nothing else: A, B or C.")
    turned = Shown(shown.question, shown.options[::-1])
    assert prompt_parts(shown)[0] == prompt_parts(turned)[0]
    with pytest.raises(InputError, match=r"`template` holds \{question\} 2 times"):
        check_template("{question} {question} {options}")
    with pytest.raises(InputError, match="27 options, but there are only 26 letters"):
        prompt(Shown("?", tuple(map(str, range(27)))))
