package admit

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Authenticate finds the key of a secret. The reads that routing will want begin meanwhile; they go on where the key turns
// out to be none, for the others who wait for them. It does not keep the secret.
func (a *Admitter) Authenticate(ctx context.Context, d Directory, secret []byte, now time.Time) (*Key, *sdk.Failure) {
	for _, w := range a.warm {
		w.Start(ctx)
	}
	sum := sha256.Sum256(secret)
	key := d.FindKey(sum)
	if key == nil && a.store != nil && made(secret) {
		var f *sdk.Failure
		if key, f = a.stored(ctx, d, sum); f != nil {
			return nil, f
		}
	}
	switch {
	case key == nil || !key.bears(&sum, now):
		return nil, badKey("the key is not known here")
	case !key.Expires.IsZero() && !now.Before(key.Expires):
		return nil, badKey("the key has expired")
	}
	return key, nil
}

func badKey(message string) *sdk.Failure {
	return &sdk.Failure{Kind: sdk.BadKey, Message: message, Final: true}
}

// stored finds a key in the store; nil where there is none.
func (a *Admitter) stored(ctx context.Context, d Directory, sum [32]byte) (*Key, *sdk.Failure) {
	rec, err := a.keys.find(ctx, sum, !d.FailClosed())
	if err != nil {
		return nil, a.storeDown("keys", err)
	}
	if rec == nil {
		return nil, nil
	}
	team, of, f := a.memberOf(ctx, d, rec.row.Team)
	if f != nil {
		return nil, f
	}
	key, err := rec.in(team, of)
	if err != nil {
		a.log.Error("key: its settings cannot be used", "key", rec.row.Name, "error", err)
		return nil, sdk.Fail(sdk.Internal, "the key's settings cannot be used")
	}
	return key, nil
}

// memberOf finds the team of a stored key, and the team's organisation: in the configuration, else in the store.
func (a *Admitter) memberOf(ctx context.Context, d Directory, name string) (team *Team, of *Organisation, f *sdk.Failure) {
	if name == "" {
		return nil, nil, nil
	}
	if team = d.FindTeam(name); team == nil {
		made, err := a.teams.Get(ctx, !d.FailClosed())
		if err != nil {
			return nil, nil, a.storeDown("teams", err)
		}
		if team = made[name]; team == nil {
			return nil, nil, badKey("the key's team is not known here")
		}
	}
	if name = team.Organisation; name == "" {
		return team, nil, nil
	}
	if of = d.FindOrganisation(name); of == nil {
		made, err := a.organisations.Get(ctx, !d.FailClosed())
		if err != nil {
			return nil, nil, a.storeDown("organisations", err)
		}
		if of = made[name]; of == nil {
			return nil, nil, badKey("the organisation of the key's team is not known here")
		}
	}
	return team, of, nil
}

// readTeams reads all teams of the store. One whose settings cannot be used is left out, and its keys are refused.
func (a *Admitter) readTeams(ctx context.Context) (map[string]*Team, error) {
	rows, err := a.store.Teams(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*Team, len(rows))
	for i := range rows {
		t, err := StoredTeam(&rows[i])
		if err != nil {
			a.log.Error("team: its settings cannot be used", "error", err)
			continue
		}
		all[t.Name] = t
	}
	return all, nil
}

// readOrganisations reads all organisations of the store, as readTeams does.
func (a *Admitter) readOrganisations(ctx context.Context) (map[string]*Organisation, error) {
	rows, err := a.store.Organisations(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*Organisation, len(rows))
	for i := range rows {
		o, err := StoredOrganisation(&rows[i])
		if err != nil {
			a.log.Error("organisation: its settings cannot be used", "error", err)
			continue
		}
		all[o.Name] = o
	}
	return all, nil
}

// retryStore is after how long a client is asked to try again where the store does not answer.
const retryStore = time.Second

// storeDown is the failure of a request that the store was needed for: never that of a bad key.
func (a *Admitter) storeDown(what string, err error) *sdk.Failure {
	if err != errDown {
		a.log.Error("store: a read failed", "of", what, "error", err)
	}
	return &sdk.Failure{Kind: sdk.StoreDown, Message: "the gateway's store does not answer", RetryAfter: retryStore}
}
