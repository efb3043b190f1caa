"""The admission webhook over the rules of `podrules`.

    main                the command line of qos-webhook
    server              gunicorn around the application
    app                 Flask: probes, error answers, and the reviews in front of its routes
    wsgi                reviews over HTTP: body, handler, answer
    bodies              reads the body of a request
    admission_review    AdmissionReview to Request
    handlers            Request to Answer, one module per concern, without HTTP
    response            Answer to AdmissionReview

docs/webhook/ describes what the webhook fills in, warns about and refuses.
"""
