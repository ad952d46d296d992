package relay

import "github.com/penstock-gateway/penstock/sdk"

// silent says whether an answer without content is one all the same: its model has ended its turn in good order, with words
// of its own that come to nothing. Models do so after the results of tools, where all has been said
// (https://docs.claude.com/en/api/handling-stop-reasons, "Empty responses with end_turn"), and where an answer that broke off
// needs no more. Otherwise another deployment may have more to say, and where there is none, asking again would be paid for
// and come to the same.
//
// An answer whose usage says that nothing was written, or only thought, is no such one: its provider has lost it.
func (a *active) silent(u sdk.Usage, reason sdk.Reason) bool {
	written := u.TotalOutput() - u.Reasoning
	return reason == sdk.ReasonStop && u.Known && written > 0 && (a.Facts.Results || a.mending || a.lastResort())
}

// saysNothing is the failure of an answer that came whole and without content.
func saysNothing() *sdk.Failure {
	return sdk.Fail(sdk.UpstreamEmpty, "the provider's answer says nothing")
}
