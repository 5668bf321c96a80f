"""Questions about two people in a context that does or does not say who is meant, as in BBQ (Parrish et al. 2022).

::

    kind                what rows have, what a scorer gives to them, and what they are called
    columns             the names in that, and the words that stand in rows
    expansion           what a template declares, and how its lines become rows
    checks              what `senseprobe lint` finds in them
    mapped              a user's own table as questions
    units               what a model is asked of a row
    likelihood_scorers  causal models: how likely each answer is
    chat_scorers        chat models: answer_orders, answer_texts and control_items say how they are asked and read
    choices             the share of each answer, by a model or by a fixed rule
    figures             leaning, accuracy and the shares of places; estimands declares them
    sections            what a report says of them
    formats             `senseprobe import bbq` (bbq) and `bbq-templates` (bbq_folder, and the other modules bbq_*)
"""
