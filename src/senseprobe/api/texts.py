"""What texts hold: the Bias Score of sentences, and mentions of groups in corpora."""
