"""Items whose order of options is not arbitrary: the rules, and what each reason means."""
