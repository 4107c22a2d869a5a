"""The second homework, judged: a GPT trained on a mesh (script), its logs and table (measured), its figures, a plan."""
