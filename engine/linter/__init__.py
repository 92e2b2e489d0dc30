"""What a job's own criteria do not look at: how columns vary, whether records repeat a person, homogeneous classes."""
