package config

import (
	"time"

	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/sdk"
)

// price decodes what a deployment costs: one price, or several by the time from which they are in force.
func (d *decoder) price(n *node, path string) price.List {
	switch n.kind {
	case null:
		return nil
	case object:
		return price.List{d.period(n, path)}
	}
	var l price.List
	for i, c := range n.items {
		at := element(path, i)
		p := d.period(c, at)
		switch from := c.members["from"]; {
		case i == 0 || p.From.After(l[i-1].From):
		case from.text != "" && p.From.IsZero(): // what is wrong with it has been said
		case from.text == "":
			d.fail(c.start(), at, "", `the member "from" is missing: only the first price of a list may have none`)
		default:
			d.fail(from.at, at+".from", "", "want a time after that of the price before it, %s, got %s", l[i-1].From.Format(time.RFC3339), from.shown())
		}
		l = append(l, p)
	}
	return l
}

// period decodes the price from one time on.
func (d *decoder) period(n *node, path string) price.Period {
	p := price.Period{Rates: d.rates(n, path)}
	if from := n.members["from"]; from.text != "" {
		var err error
		if p.From, err = parseExpiry(from.text); err != nil {
			d.fail(from.at, path+".from", "such as 2027-01-31", "want an RFC 3339 time or a date, got %s", from.shown())
		}
	}
	for _, one := range [...]struct {
		name string
		to   *int64
	}{{"request", &p.Request}, {"image", &p.Image}, {"web_search", &p.Search}} {
		amount, _ := d.money(n, path, one.name)
		*one.to = int64(amount)
	}
	d.service(&p, n.members["service_tiers"], path+".service_tiers")
	for i, c := range n.members["tiers"].items {
		t := d.tier(c, n, element(path+".tiers", i))
		if i > 0 && t.Above <= p.Tiers[i-1].Above {
			above := c.members["above"]
			d.fail(above.at, element(path+".tiers", i)+".above", "", "want more than the tier before it, %d, got %s", p.Tiers[i-1].Above, above.shown())
		}
		t.Request, t.Image, t.Search = p.Request, p.Image, p.Search
		p.Tiers = append(p.Tiers, t)
	}
	return p
}

// serviceTiers are the members that say what a tier of service multiplies the prices of tokens by.
var serviceTiers = [...]struct {
	name string
	tier sdk.Tier
}{{"flex", sdk.TierFlex}, {"priority", sdk.TierPriority}, {"batch", sdk.TierBatch}, {"fast", sdk.TierFast}}

// service decodes what tiers of service cost.
func (d *decoder) service(p *price.Period, n *node, path string) {
	for _, s := range serviceTiers {
		factor, ok := d.money(n, path, s.name)
		if ok && factor < 1000 {
			d.fail(n.members[s.name].at, path+"."+s.name, "", "want a factor above 0, got %s", n.members[s.name].shown())
		}
		p.Service[s.tier] = int64(factor) / 1000 // from nano to millionths
	}
}

// tokenPrices are the members of a price that may be left out. A tier that leaves one out that the price has would charge
// those tokens in full, where the price itself does not.
var tokenPrices = [...]string{"cache_read", "cache_write", "cache_write_1h", "reasoning", "audio_input", "image_input", "audio_output", "image_output"}

func (d *decoder) tier(n, base *node, path string) price.Tier {
	for _, name := range tokenPrices {
		if base.members[name].kind != null && n.members[name].kind == null {
			d.fail(n.start(), path, "", "the member %q is missing: the price around it has one", name)
		}
	}
	return price.Tier{Above: n.whole("above"), Rates: d.rates(n, path)}
}

// rates decodes the prices of tokens. What is not priced apart costs what the tokens around it cost.
func (d *decoder) rates(n *node, path string) price.Rates {
	in, _ := d.money(n, path, "input")
	out, _ := d.money(n, path, "output")
	r := price.Usual(int64(in), int64(out))
	for i, to := range [len(tokenPrices)]*int64{&r.CacheRead, &r.CacheWrite, &r.CacheWriteHour, &r.Reasoning, &r.AudioInput, &r.ImageInput, &r.AudioOutput, &r.ImageOutput} {
		amount, ok := d.money(n, path, tokenPrices[i])
		switch {
		case ok:
			*to = int64(amount)
		case to == &r.CacheWriteHour:
			*to = r.CacheWrite
		}
	}
	return r
}
