"""Control flow: branches and loops whose bodies are closed Programs."""
