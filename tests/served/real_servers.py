"""Real servers on this machine, one thread each, and a real model for them: SmolLM2 with weights in 32 bits.

