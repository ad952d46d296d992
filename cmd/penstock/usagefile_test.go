package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/store"
)

// TestReadUsage reads the forms of exports; figures and names are made up.
func TestReadUsage(t *testing.T) {
	t.Parallel()
	day := modelDay{"2026-11-28", "m"}
	f := func(name, text string, want usageFile) {
		t.Helper()
		got, err := readUsage([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(modelDay{}, usage{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	f("OpenAI CSV", "\xEF\xBB\xBFstart_time,end_time,start_time_iso,end_time_iso,num_model_requests,model,input_tokens,output_tokens,input_cached_tokens\n"+
		"1795824000,0,2026-11-28T00:00:00+00:00,,2,m-2025-04-14,1000,50,400\n1795824000,0,2026-11-28T00:00:00+00:00,,1,m,10,5,\n", usageFile{day: {input: 1010, cacheRead: 400, output: 55}})
	f("OpenAI JSON", `{"object":"page","data":[{"object":"bucket","start_time":1795824000,"results":[{"model":"m","input_tokens":1000,"output_tokens":50,"input_cached_tokens":400,"input_cache_write_tokens":30}]}],"has_more":true}
		{"object":"page","data":[{"object":"bucket","start_time":1795827600,"results":[{"model":"m","input_tokens":10,"output_tokens":5}]},{"object":"bucket","start_time":1795910400,"results":[]}]}`,
		usageFile{day: {input: 1010, cacheRead: 400, cacheWrite: 30, output: 55}})
	f("Anthropic CSV", "usage_date_utc,model_version,api_key,workspace,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens\n"+
		"2026-11-28,m-20250929,k,Default,100,20,3,4000,50\n", usageFile{day: {input: 4123, cacheRead: 4000, cacheWrite: 23, output: 50, cacheWriteHour: 3}})
	f("Anthropic CSV by the hour, with searches", "usage_date_utc,model_version,usage_input_tokens_no_cache,usage_output_tokens,web_search_count\n2026-11-28 23:00,m,100,50,2\n",
		usageFile{day: {input: 100, output: 50, searches: 2, fine: true}})
	f("Anthropic JSON", `{"data":[{"starting_at":"2026-11-28T00:00:00Z","ending_at":"2026-11-29T00:00:00Z","results":[
		{"uncached_input_tokens":100,"cache_creation":{"ephemeral_1h_input_tokens":3,"ephemeral_5m_input_tokens":20},"cache_read_input_tokens":4000,"output_tokens":50,"model":"m-20250929","server_tool_use":{"web_search_requests":7}}]}]}`,
		usageFile{day: {input: 4123, cacheRead: 4000, cacheWrite: 23, output: 50, cacheWriteHour: 3, searches: 7, fine: true}})
}

// TestReadUsageRefuses holds what is said of files that are no exports.
func TestReadUsageRefuses(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		if got, err := readUsage([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
	}
	f("", "want CSV with a head, or JSON")
	f("a,b\n1,2\n", "columns a, b: want an export of usage by day and model")
	f("start_time,model,input_tokens\nsoon,m,1\n", `time "soon": want a date or seconds`)
	f("start_time,model,input_tokens\n1,m,-5\n", `input_tokens "-5": want a count`)
	f("start_time,model,input_tokens\n1,m,1.5\n", `input_tokens "1.5": want a count`)
	f("start_time,model,input_tokens\n1,,1\n", "want an export that is grouped by model")
	f("start_time,model,input_tokens\n1,m\n", "wrong number of fields")
	f(`{"error":"no"}`, "JSON without data")
	f(`{"data":[{"start_time":1,"results":[{"model":null}]}]}`, "grouped by model")
	f(`{"data":[{"start_time":1,"results":[{"model":"m","output_tokens":-1}]}]}`, "-1 tokens: want a count")
	f(`{"data":`, "unexpected EOF")
}

// FuzzReadUsage holds that no file leads to a count below zero, or out of all bounds.
func FuzzReadUsage(f *testing.F) {
	f.Add([]byte("start_time,model,input_tokens,input_cached_tokens,output_tokens\n1,m,1,2,3\n"))
	f.Add([]byte("usage_date_utc,model_version,usage_input_tokens_no_cache\n2026-11-28,m,1\n"))
	f.Add([]byte(`{"data":[{"start_time":1,"results":[{"model":"m","input_tokens":1}]}]}`))
	f.Add([]byte("start_time,amount_value,line_item\n1,1e-05,\"m, input\"\n"))
	f.Add([]byte(`{"data":[{"start_time":1,"results":[{"amount":{"value":1,"currency":"usd"}},{"model":"m","amount":"1"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readUsage(data)
		if err != nil {
			return
		}
		for k, u := range file {
			if u.input < 0 || u.cacheRead < 0 || u.cacheWrite < 0 || u.output < 0 || u.cacheWriteHour < 0 || u.searches < 0 {
				t.Errorf("%+v: got %+v", k, u)
			}
		}
	})
}

// TestBeside holds that models which only one side names are differences.
func TestBeside(t *testing.T) {
	t.Parallel()
	a, b := modelDay{"2026-11-28", "a"}, modelDay{"2026-11-28", "b"}
	list := beside(usageFile{a: {input: 100}}, map[modelDay]ownUsage{b: {usage{output: 7, searches: 3}, 1}})
	var different []comparison
	for _, c := range list {
		if c.differs(0) {
			different = append(different, c)
		}
	}
	want := []comparison{{"2026-11-28", "a", "input", 100, 0, 0}, {"2026-11-28", "b", "output", 0, 7, 1}}
	if d := cmp.Diff(want, different); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	if list := beside(usageFile{a: {fine: true, searches: 2}}, map[modelDay]ownUsage{a: {usage{searches: 3}, 0}}); list[5] != (comparison{"2026-11-28", "a", "web_searches", 2, 3, 0}) {
		t.Errorf("an export that has searches: got %+v", list)
	}
	near := comparison{Theirs: 1000, Ours: 1005}
	if near.differs(0.5) || !near.differs(0.4) {
		t.Error("a difference of half a percent: want it within 0.5 and not within 0.4")
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	f := func(text string, want time.Time) {
		t.Helper()
		if got, err := moment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	f("", time.Time{})
	f("24h", now.Add(-24*time.Hour))
	f("2026-11-01", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	f("2026-11-01T02:00:00+02:00", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	for _, text := range []string{"-1h", "yesterday", "2026-13-01"} {
		if _, err := moment(text, now); err == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

func TestDollars(t *testing.T) {
	t.Parallel()
	f := func(nano int64, want string) {
		t.Helper()
		if got := dollars(nano); got != want {
			t.Errorf("%d: got %s, want %s", nano, got, want)
		}
	}
	f(0, "0.00")
	f(1, "0.000000001")
	f(1_500_000_000, "1.50")
	f(100_000_000_000, "100.00")
	f(store.MaxCost, "1000000.00")
	f(math.MaxInt64, "9223372036.854775807")
}

// TestCell holds that no text of an export is taken for a formula.
func TestCell(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		if got := cell(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	f("", "")
	f("gpt-4.1", "gpt-4.1")
	f("=HYPERLINK(1)", "'=HYPERLINK(1)")
	f("+1", "'+1")
	f("-1", "'-1")
	f("@SUM(A1)", "'@SUM(A1)")
	f("\t=1", "'\t=1")
}

// TestReadCosts reads the forms of exports of costs; figures and names are made up.
func TestReadCosts(t *testing.T) {
	t.Parallel()
	first, all := modelDay{"2026-11-28", "m"}, modelDay{"2026-11-28", ""}
	f := func(name, text string, want usageFile) {
		t.Helper()
		got, err := readUsage([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(modelDay{}, usage{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	f("OpenAI JSON by line item", `{"object":"page","data":[{"object":"bucket","start_time":1795824000,"results":[
		{"object":"organization.costs.result","amount":{"value":0.06,"currency":"usd"},"line_item":"m-2025-04-14, input"},
		{"object":"organization.costs.result","amount":{"value":"5.2e-05","currency":"usd"},"line_item":"m, output"}]}]}`,
		usageFile{first: {cost: 60_052_000, paid: true}})
	f("OpenAI JSON by the day", `{"object":"page","data":[{"start_time":1795824000,"results":[{"amount":{"value":0.06,"currency":"usd"},"line_item":null}]}]}`,
		usageFile{all: {cost: 60_000_000, paid: true}})
	f("OpenAI CSV", "start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,quantity,quantity_unit,line_item\n"+
		"1795737600,1795824000,2026-11-27T00:00:00+00:00,,,,,,\n"+
		"1795824000,1795910400,2026-11-28T00:00:00,2026-11-29T00:00:00,0.003835980000000000000000000000,usd,1000,tokens,\"m, input\"\n",
		usageFile{first: {cost: 3_835_980, paid: true}})
	f("Anthropic JSON, in cents; what has no model leaves the day alone", `{"data":[{"starting_at":"2026-11-28T00:00:00Z","results":[
		{"currency":"USD","amount":"123.45","description":"M usage","cost_type":"tokens","model":"m-20250929"},
		{"currency":"USD","amount":"100","cost_type":"web_search","model":null}]}]}`, usageFile{all: {cost: 2_234_500_000, paid: true}})
	f("Anthropic CSV", "usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,list_price_usd,cost_type\n"+
		"2026-11-28,Claude M 4.6,Default,k,message,≤ 200k,output,1.50,1.50,token\n2026-11-28,Claude M 4.6,Default,k,message,≤ 200k,input_no_cache,0.25,0.25,token\n",
		usageFile{all: {cost: 1_750_000_000, paid: true}})
	f("sound, which OpenAI counts beside the text", `{"data":[{"start_time":1795824000,"results":[{"model":"m","input_tokens":10,"output_tokens":5,"input_audio_tokens":7,"output_audio_tokens":3}]}]}`,
		usageFile{first: {input: 17, output: 8, audioInput: 7, audioOutput: 3, sound: true}})
	for text, want := range map[string]string{
		`{"data":[{"start_time":1,"results":[{"amount":{"value":1,"currency":"eur"}}]}]}`: "want USD",
		`{"data":[{"start_time":1,"results":[{"amount":"much","currency":"USD"}]}]}`:      "want a sum of money",
		`{"data":[{"start_time":1,"results":[{"amount":"NaN","currency":"USD"}]}]}`:       "want a sum of money",
		`{"data":[{"start_time":1,"results":[{"amount":{"value":1e300}}]}]}`:              "want a sum of money",
		"start_time,amount_value,amount_currency\n1,1,gbp\n":                              "want USD",
		"model,cost_usd\nm,1\n": "costs without a time",
	} {
		if got, err := readUsage([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
	}
}

// TestBesideCosts holds that costs are compared as money: what rounding comes to is no difference.
func TestBesideCosts(t *testing.T) {
	t.Parallel()
	k := modelDay{"2026-11-28", ""}
	list := beside(usageFile{k: {cost: 1_000_000_000, paid: true}}, map[modelDay]ownUsage{k: {usage{input: 5, cost: 1_000_000_500}, 0}})
	if len(list) != 1 || list[0] != (comparison{"2026-11-28", "", "cost_nano_usd", 1_000_000_000, 1_000_000_500, 0}) || list[0].differs(0) {
		t.Errorf("got %+v", list)
	}
	if more := (comparison{Kind: kindCost, Theirs: 1_000_000_000, Ours: 1_010_000_000}); !more.differs(0.5) || more.differs(1) {
		t.Error("a difference of one percent: want it within 1 and not within 0.5")
	}
}
