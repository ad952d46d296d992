package generation

import (
	"github.com/penstock-gateway/penstock/core/credential"
)

// Seals gives the encryption keys of what the store keeps encrypted; see admit.Directory and keyring.Configuration.
func (g *Generation) Seals() *credential.Seals { return g.seals }

// seal makes the encryption keys ready. A change is refused that leaves out the key of a credential which can be decrypted
// now: its owner's requests would be refused. While the store does not answer, nothing is.
func (c *compilation) seal() {
	previous := make([]string, len(c.cfg.Encryption.Previous))
	for i, key := range c.cfg.Encryption.Previous {
		previous[i] = key.Reveal()
	}
	var err error
	if c.gen.seals, err = credential.NewSeals(c.cfg.Encryption.Key.Reveal(), previous...); err != nil {
		c.fail("store.encryption", "", "%v", err)
		return
	}
	if c.Keys == nil || c.before == nil {
		return
	}
	stored, err := c.Keys.Credentials(c.ctx)
	if err != nil {
		c.Log.Warn("generation: encryption keys are not compared with the credentials of the store", "error", err)
		return
	}
	lost := map[string]int{}
	for i := range stored {
		if by := stored[i].SealedBy; c.before.seals.Opens(by) && !c.gen.seals.Opens(by) {
			lost[by]++
		}
	}
	for by, n := range lost {
		c.refuse("store.encryption.previous", "keep the key here until `penstock credentials rotate` has encrypted them anew",
			"%d credentials of the store are encrypted by the key %s: want that key too", n, by)
	}
}
