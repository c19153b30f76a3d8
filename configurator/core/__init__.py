"""The constraint engine: pure Python, standard library only, no knowledge of any release."""
