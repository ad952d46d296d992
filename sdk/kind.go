package sdk

// kindNames are the names of the kinds, in order; they stand in manifests, metrics and logs.
var kindNames = [...]string{
	KindNone: "none", BadRequest: "bad_request", BadKey: "bad_key", Forbidden: "forbidden", UnknownModel: "unknown_model",
	UnknownRoute: "unknown_route", BadMethod: "bad_method", BadEncoding: "bad_encoding", TooLarge: "too_large",
	ContextTooLong: "context_too_long", CannotTranslate: "cannot_translate", RateLimited: "rate_limited",
	OverTokenLimit: "over_token_limit", BudgetSpent: "budget_spent", NoTarget: "no_target", UpstreamRate: "upstream_rate",
	UpstreamMoney: "upstream_money", UpstreamAuth: "upstream_auth", UpstreamModel: "upstream_model", Overloaded: "overloaded",
	UpstreamError: "upstream_error", UpstreamEmpty: "upstream_empty", Timeout: "timeout", ContentRefused: "content_refused",
	PluginFailed: "plugin_failed", PolicyFailed: "policy_failed", GuardBlocked: "guard_blocked", Draining: "draining",
	Shedding: "shedding", StoreDown: "store_down", ClientGone: "client_gone", Internal: "internal",
}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// ParseKind gives the kind of a name.
func ParseKind(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name && k > 0 {
			return Kind(k), true
		}
	}
	return KindNone, false
}
