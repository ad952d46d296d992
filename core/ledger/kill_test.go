package ledger

// killedArg makes the test binary the process that is killed.
const killedArg = "penstock-killed"

func killed([]string) {}
