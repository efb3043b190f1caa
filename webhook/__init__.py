"""The admission webhook over the rules of `podrules`.

    main        the command line of qos-webhook
    server      gunicorn around the application
    app         HTTP: the only module that knows Flask
    review      AdmissionReview to Request
    response    Answer to AdmissionReview
    handlers    one module a concern: Request to Answer, no HTTP

What it fills in, warns of and refuses is told in docs/webhook.md.
"""
