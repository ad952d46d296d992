package policy

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
)

// same are expressions and bodies that must mean under the guards what they mean without. Each is the body of a function
// whose result is written out; one that fails must fail in both.
var same = []string{
	"return 1 + 2 * 3 - 4 // 3 % 5",
	"return [x + y for x in [1, 2.5, -3] for y in [4, 0.25, -1]]",
	"return [x - y for x in [1, 2.5, -3] for y in [4, 0.25, -1]]",
	"return [x * y for x in [1, 2.5, -3] for y in [4, 0.25, -1]]",
	"return [x % y for x in [1, 2.5, -3] for y in [4, 0.25, -1]]",
	"return [x // y for x in [1, 2.5, -3] for y in [4, 0.25, -1]]",
	"return [x < y for x in [1, 2.5, -3] for y in [4, 0.25, 2.5]]",
	"return ['a' + 'b', [1] + [2, 3], (1,) + (2, 3)]",
	"return ['ab' * 3, 2 * 'xy', [1, 2] * 2, 2 * (1, 2), 'a' * 0, [1] * -1, 'a' * -5]",
	"return 1 << 70 >> 68 | 1 & 3 ^ 2",
	"return {1: 2} | {3: 4, 1: 9}",
	"return '%s is %d and %r, 100%%' % ('a', 3, [1, 'b'])",
	"return '%(x)s-%(y)d' % {'x': 'a', 'y': 3}",
	"return '%s' % 3",
	"return '{} {1}'.format(1, 2)",
	"return '{} {} {x}'.format(1, 'b', x = [2])",
	"return '{{}}'.format()",
	"return [a == b for a in [1, 1.0, 'a', [1], (1,), {1: 2}, None] for b in [1, 'a', [1], (1,), {1: 2}, None]]",
	"return [a != b for a in [1, 'a', [1, [2]]] for b in [1, 'a', [1, [2]]]]",
	"return [(1, 2) < (1, 3), [1, 2] >= [1], 'a' < 'b', True > False]",
	"return [x in y for x in [1, 'a'] for y in [[1], (1, 'a'), {'a': 1}, range(3)]]",
	"return [x not in y for x in ['a', 'ab', ''] for y in ['abc', 'b', '']]",
	"return 1 in 2",
	"return [1] < 2",
	"return 'a' + 1",
	"return 1 + 'a'",
	"return [] * []",
	"return None + None",
	"return 'abcdef'[1:4], 'abcdef'[::-1], [1, 2, 3][-2:], (1, 2, 3)[:1], range(10)[2:5]",
	"x = [1]\n y = x\n y += [2]\n y += (3, 4)\n return x, y",
	"x = 'a'\n y = x\n y += 'b'\n return x, y",
	"x = (1,)\n y = x\n y += (2,)\n return x, y",
	"x = [1, 2]\n x *= 2\n return x",
	"x = 7\n x -= 2\n x *= 3\n x //= 2\n x %= 4\n x <<= 3\n x |= 1\n x >>= 1\n x &= 7\n x ^= 2\n return x",
	"d = {'a': [1], 'b': 1}\n d['a'] += [2]\n d['b'] += 5\n return d",
	"d = {'a': {'b': [3]}}\n d['a']['b'][0] -= 1\n return d",
	"d = {1: 2}\n e = d\n d |= {3: 4, 1: 5}\n return d, e",
	"x = 5\n x |= 2\n return x",
	"x = [1]\n x |= [2]\n return x",
	"a, b = 1, 2\n a, b = b, a\n (c, d), e = (a, b), [a]\n return a, b, c, d, e",
	"a, b = (1, 2, 3)\n return a",
	"x = []\n for a, [b, c] in [(1, [2, 3]), (4, (5, 6))]:\n  x.append(a + b * c)\n return x",
	"x = []\n for i in range(10):\n  if i % 2:\n   continue\n  elif i > 6:\n   break\n  else:\n   x.append(i)\n return x",
	"return sorted([3, 1, 2]), sorted(['b', 'a'], reverse = True), sorted([3, 1.5, 2])",
	"return sorted([(1, 'b'), (0, 'c'), (1, 'a')], key = lambda p: p[0])",
	"return sorted([(1, 'b'), (0, 'c'), (1, 'a')], key = lambda p: p[0], reverse = True)",
	"return sorted([1, 'a'])",
	"return sorted({'b': 1, 'a': 2}), sorted(range(3), key = lambda x: -x), sorted((2, 1))",
	"return sorted([1.5, 2, 0.5, 1, -1.0, float('inf'), -2])",
	"return min(3, 1, 2), max([3, 1, 2]), min('b', 'a'), max([1, 3, 2], key = lambda x: -x), min([(1, 'a'), (1, 'b')], key = lambda p: p[0])",
	"return min(1)",
	"return max([], key = len)",
	"return any([0, 1]), all([0, 1]), any({}), all(()), any(range(1))",
	"return list((1, 2)), list({'a': 1}), tuple([1, 2]), tuple(), list(), list(range(5))",
	"return enumerate(['a', 'b']), enumerate(['a'], 5), zip([1, 2], ['a', 'b', 'c']), zip(), reversed([1, 2, 3])",
	"return dict(), dict([(1, 2)], a = 3), dict({'b': 1}), dict(a = 1)",
	"return dict([1])",
	"return str(1), str('a'), str([1, 'a', (2,), {'b': None}]), str(1.5), type('a'), type([])",
	"return int('12'), int(3.9), int('ff', 16), int(True), float('2.5'), float(3), bool([]), abs(-3), abs(2.5), len('abc'), len([1])",
	"return int('x')",
	"return int('99999999999999999999') + 1, -(1 << 100), 1 << 100 // 3",
	"return 'a,b,,c'.split(','), ' a  b '.split(), 'a,b,c'.rsplit(',', 1), 'a\\nb\\n'.splitlines()",
	"return ','.join(['a', 'b']), ','.join(()), ''.join({'x': 1})",
	"return ','.join([1])",
	"return ','.join('ab')",
	"return 'aXbX'.replace('X', 'yy'), 'aa'.replace('a', 'b', 1), 'ab'.replace('', '-')",
	"return 'Ab'.upper(), 'Ab'.lower(), 'ab cd'.title(), 'ab'.capitalize(), ' a '.strip(), 'xax'.lstrip('x'), 'xax'.rstrip('x')",
	"return 'abc'.find('c'), 'abc'.rfind('z'), 'abcb'.index('b'), 'abcb'.rindex('b'), 'aab'.count('a')",
	"return 'abc'.startswith('ab'), 'abc'.endswith(('x', 'bc')), 'a=b=c'.partition('='), 'a=b=c'.rpartition('=')",
	"return 'a1'.isalnum(), 'a'.isalpha(), '1'.isdigit(), 'a'.islower(), ' '.isspace(), 'A'.isupper()",
	"return 'prefix-x'.removeprefix('prefix-'), 'x.star'.removesuffix('.star')",
	"return 'abc'.index('z')",
	"x = [1, 2, 3]\n x.extend([4])\n x.extend((5,))\n x.insert(0, 0)\n x.remove(3)\n return x, x.pop(), x.pop(0), x.index(2), x",
	"x = [1]\n x.clear()\n x.append(2)\n return x",
	"x = [1]\n x.remove(2)\n return x",
	"x = [1]\n x.extend(3)",
	"d = {'a': 1}\n d.update({'b': 2})\n d.update([('c', 3)], d = 4)\n return d, d.keys(), d.values(), d.items(), d.get('a'), d.get('z', 9)",
	"d = {'a': 1, 'b': 2}\n return d.pop('a'), d.pop('z', 0), d.setdefault('q', []), d.popitem(), d",
	"d = {}\n return d.pop('z')",
	"return {x: [y for y in range(x)] for x in range(3) if x != 1}",
	"return [i for i in range(3)], [(i, j) for i in range(2) for j in range(2) if i != j]",
	"f = lambda x, y = 2: x * y\n return f(3), f(3, y = 4), f(x = 1)",
	"def f(a, b = [1], *, c = 3):\n  return a, b, c\n return f(1), f(1, 2), f(1, c = 5), f(a = 0, b = 1)",
	"def f(a):\n  return a\n return f()",
	"def make(n):\n  def add(x):\n   return x + n\n  return add\n return make(2)(3), [g(1) for g in [make(i) for i in range(3)]]",
	"x = [1, 2]\n for y in x:\n  x.append(y)",
	"return 1 if [] else 2, not 3, -4, +5, ~6, 1 and 0, 0 or 'a', None or []",
	"return (1 if 2 > 3 else 'b') + 'c'",
	"x = None\n return x.foo",
	"return 1 // 0",
	"return 1.5 % 0",
	"return {1: 2}[3]",
	"return [][0]",
	"return {[]: 1}",
	"return {(1, (2, 'a')): 3}[(1, (2, 'a'))]",
	"return {'a': 1, 'a': 2}",
	"fail('a', 3, [1])",
}

// TestGuardsChangeNothing runs each with the guards and without them.
func TestGuardsChangeNothing(t *testing.T) {
	for _, body := range same {
		src := "def f():\n " + body + "\n"
		want, wantErr := plain(t, src)
		got, gotErr := guarded(t, src)
		if got != want || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s\ngot %s, %v\nwant %s, %v", body, got, gotErr, want, wantErr)
		}
	}
}

func plain(t *testing.T, src string) (string, error) {
	t.Helper()
	th := new(starlark.Thread)
	globals, err := starlark.ExecFileOptions(&dialect, th, "f.star", src, nil)
	if err != nil {
		if strings.Contains(src, ".foo") {
			return "", err
		}
		t.Fatalf("%s: %v", src, err)
	}
	return written(starlark.Call(th, globals["f"], nil, nil))
}

func guarded(t *testing.T, src string) (string, error) {
	t.Helper()
	s, err := CompileScript("f.star", []byte(src), Options{})
	if err != nil {
		if strings.Contains(src, ".foo") {
			return "", err
		}
		t.Fatalf("%s: %v", src, err)
	}
	r := s.take(t.Context(), nil)
	defer r.end()
	return written(starlark.Call(&r.thread, s.globals["f"], nil, nil))
}

func written(v starlark.Value, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return v.String(), nil
}
