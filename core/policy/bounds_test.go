package policy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostile are bodies of route that ask for more than they may have, and the bound that each must meet.
var hostile = []struct {
	name string
	kind Kind
	body string
}{
	{"endless loop", Steps, "for i in range(65536):\n  for j in range(65536):\n   pass"},
	{"text of a gigabyte", Memory, `x = "a" * 1000000000`},
	{"text of a gigabyte, from the right", Memory, `x = 1000000000 * "a"`},
	{"text doubled", Memory, "x = 'a'\n for i in range(60000):\n  x += x"},
	{"text doubled by join", Memory, "x = 'a'\n for i in range(60000):\n  x = ''.join([x, x])"},
	{"list of a gigabyte", Memory, "x = [0] * 100000000"},
	{"list repeated in place", Memory, "x = [0]\n x *= 100000000"},
	{"list doubled", Memory, "x = [0]\n for i in range(60000):\n  x = x + x"},
	{"list doubled in place", Memory, "x = [0]\n for i in range(60000):\n  x += x"},
	{"list that extends itself", Memory, "x = [0]\n for i in range(60000):\n  x.extend(x)"},
	{"list in a dict doubled in place", Memory, "d = {0: [0]}\n for i in range(60000):\n  d[0] += d[0]"},
	{"tuple doubled", Memory, "x = (0,)\n for i in range(60000):\n  x = x + x"},
	{"huge range listed", Memory, "list(range(100000000))"},
	{"range beyond an int", Raised, "list(range(1 << 62))"},
	{"range enumerated", Memory, "enumerate(range(30000000))"},
	{"ranges zipped", Memory, "zip(range(30000000), range(30000000))"},
	{"greatest of a range", Raised, "max(range(3000000000))"},
	{"greatest of many ranges", Memory, "for i in range(60000):\n  max(range(65536))"},
	{"any of many ranges", Memory, "for i in range(60000):\n  any([0] * 60000)"},
	{"sorted range", Memory, "sorted(range(1000000))"},
	{"sorted often", Memory, "for i in range(60000):\n  sorted(range(20000))"},
	{"sorted by a heavy key", Memory, "k = [0]\n for i in range(100):\n  k = [k, k]\n sorted([1, 2, 3], key = lambda _: k)"},
	{"comprehension", Steps, "[x for x in range(65536) for y in range(65536)]"},
	{"comprehension that keeps", Memory, "[[x] * 20 for x in range(65536)]"},
	{"dict comprehension", Memory, "{x: {} for x in range(65536)}"},
	{"empty dicts", Memory, "for i in range(65536):\n  x = {}"},
	{"large dict copied", Memory, "d = {i: i for i in range(5000)}\n for i in range(1000):\n  dict(d)"},
	{"dict united", Memory, "d = {i: i for i in range(5000)}\n for i in range(1000):\n  d | d"},
	{"dict updated", Memory, "d = {}\n e = {i: i for i in range(4000)}\n for i in range(1000):\n  d.update(e)"},
	{"dict items", Memory, "d = {i: i for i in range(5000)}\n for i in range(10000):\n  d.items()"},
	{"join of large parts", Memory, `"".join(["a" * 60000] * 60000)`},
	{"join by a large separator", Memory, `("b" * 60000).join(["a"] * 60000)`},
	{"replace by a large part", Memory, `("a" * 60000).replace("a", "b" * 60000)`},
	{"replace nothing by a large part", Memory, `("a" * 60000).replace("", "b" * 60000)`},
	{"format", Memory, `("{0}" * 1000).format("a" * 60000)`},
	{"format by name", Memory, `("{x}" * 1000).format(x = "a" * 60000)`},
	{"percent", Memory, `("%s" * 60) % (("a" * 60000,) * 60)`},
	{"percent of a dict", Memory, `("%(a)s" * 1000) % {"a": "a" * 60000}`},
	{"split", Memory, "for i in range(60000):\n  ('a ' * 3000).split()"},
	{"case", Memory, "x = 'a' * 60000\n for i in range(60000):\n  x.upper()"},
	{"slice", Memory, "x = [0] * 60000\n for i in range(60000):\n  x[1:]"},
	{"nested list written", Memory, "x = []\n for i in range(60):\n  x = [x, x]\n str(x)"},
	{"nested list printed", Memory, "x = []\n for i in range(60):\n  x = [x, x]\n print(x)"},
	{"nested list in fail", Memory, "x = []\n for i in range(60):\n  x = [x, x]\n fail(x)"},
	{"nested list compared", Memory, "a = [0] * 100\n b = [0] * 100\n for i in range(8):\n  a = [a] * 100\n  b = [b] * 100\n a == b"},
	{"nested list searched for", Memory, "a = [0] * 100\n b = [0] * 100\n for i in range(8):\n  a = [a] * 100\n  b = [b] * 100\n a in [b]"},
	{"nested list removed", Memory, "a = [0] * 100\n b = [0] * 100\n for i in range(8):\n  a = [a] * 100\n  b = [b] * 100\n [b].remove(a)"},
	{"nested lists made heavy later", Memory, "a = []\n b = [[[a] * 100] * 100] * 100\n a.extend([0] * 60000)\n b == [[[[0] * 60000] * 100] * 100] * 100"},
	{"nested tuple as key", Memory, "t = ()\n for i in range(60):\n  t = (t, t)\n x = {t: 1}"},
	{"nested tuple by zip", Memory, "t = ()\n for i in range(60):\n  t = zip([t], [t])[0]\n x = {t: 1}"},
	{"nested tuple by repeating", Memory, "t = ()\n for i in range(60):\n  t = tuple([t] * 9)\n x = {t: 1}"},
	{"nested tuple in a dict's items", Memory, "t = ()\n for i in range(60):\n  t = {t: t}.items()[0]"},
	{"cyclic list", Memory, "x = []\n x.append(x)\n y = []\n y.append(y)\n x == y"},
	{"deep list", Memory, "x = []\n for i in range(20000):\n  x = [x]\n str(x)"},
	{"integer squared", Memory, "x = 3\n for i in range(60000):\n  x = x * x"},
	{"integer squared in place", Memory, "x = 3\n for i in range(60000):\n  x *= x"},
	{"integer doubled by adding", Memory, "x = 3\n for i in range(60000):\n  x = x + x"},
	{"integer doubled by taking away", Memory, "x = 3\n for i in range(60000):\n  x = x - (0 - x)"},
	{"integer doubled by its negative", Memory, "x = 3\n for i in range(60000):\n  x = x - -x"},
	{"integer shifted", Memory, "x = 3\n for i in range(60000):\n  x = x << 500"},
	{"integer from a float", Memory, "int(1e308)"},
	{"integer from text", Raised, "int('1' * 60000)"},
	{"integer from named text", Raised, "int(x = '1' * 60000)"},
	{"colliding keys", Steps, "d = {}\n for i in range(65536):\n  d[i * 4294967296] = i"},
	{"pops from the front", Memory, "x = [0] * 60000\n for i in range(60000):\n  x.pop(0)"},
	{"inserts at the front", Memory, "x = [0] * 30000\n for i in range(60000):\n  x.insert(0, i)"},
	{"long sum", Steps, "for i in range(60000):\n  x = " + strings.Repeat("1 + ", 20000) + "1"},
	{"large frames", Memory, "def f(go):\n  if go:\n   return [" + strings.Repeat("0, ", 20000) + "]\n for i in range(60000):\n  f(False)"},
	{"percent of a float", Memory, "x = '%s' + 'a' * 60000\n for i in range(60000):\n  x % 1.5"},
	{"lambda with a frame", Steps, "f = lambda x: 0 if x else [" + strings.Repeat("0, ", 25) + "]\n for i in range(60000):\n  f(1)"},
	{"function with cells", Memory, "def f(go):\n  if go:\n   return 0\n" + cells(200) + "\n  return lambda: " + cellNames(25) + "\n for i in range(60000):\n  f(1)"},
	{"prints without end", Steps, "for i in range(65536):\n  print('a')\n  print('a')"},
	{"many closures", Steps, "for i in range(65536):\n  f = lambda: i\n  f()"},
	{"functions call functions", Steps, "def f():\n  pass\n for i in range(65536):\n  f()\n  f()"},
}

// cells binds n names, of which cellNames uses some.
func cells(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  v%d = %d\n", i, i)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func cellNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("v%d", i))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func TestHostile(t *testing.T) {
	free := Options{DryRun: func(*Program) error { return nil }}
	req, models := &Request{}, BoxModels([]Model{{Name: "a", Price: math.Inf(1)}})
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			p, err := Compile("hostile.star", []byte("def route(req, models):\n "+h.body+"\n return ['a']\n"), free)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err = p.Route(context.Background(), req, models, nil)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("it was let through in %v", took)
			}
			if e.Kind != h.kind && e.Kind != Time {
				t.Errorf("%s: %v, want %s", e.Kind, err, h.kind)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > DefaultMemory {
				t.Errorf("made %d KiB of values, the bound is %d KiB", made>>10, DefaultMemory>>10)
			}
			if took > 5*time.Second { // A safety net, not a measure: the bound is 50 ms.
				t.Errorf("took %v", took)
			}
			t.Logf("%s after %v, %d KiB: %v", e.Kind, took.Round(time.Microsecond), (after.TotalAlloc-before.TotalAlloc)>>10, e)
		})
	}
}
