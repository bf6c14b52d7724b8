"""Base models of the 45 models on LiveCodeBench's leaderboard of April 2024, by their names and model cards."""

PREFIXES = {
    "DeepSeek-Coder": ("DSCoder", "OC-DS", "WCoder-33B", "MagiCoderS-DS"),
    "CodeQwen1.5": ("CodeQwen15",),
    "CodeLlama": ("CodeLlama", "Cllama", "Phind", "WCoder-34B", "MagiCoderS-CL"),
    "Claude 3": ("Claude-3",),
    "Claude 2": ("Claude-2", "Claude-Instant"),
    "GPT-3.5": ("GPT-3.5",),
    "GPT-4": ("GPT-4",),
    "Gemini": ("Gemini",),
    "StarCoder2": ("StarCoder2",),
    "Command R": ("Command-R",),
    "Qwen": ("Qwen-1.5", "Smaug-2"),
}


def lineage(model: str) -> str:
    """The base model; a model of which no other is made is its own."""
    return next((name for name, starts in PREFIXES.items() if model.startswith(starts)), model)
