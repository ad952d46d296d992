package sdk

// CacheMark gives the client's path of the first cache_control of a part or a tool, or of the request as a whole; "" where
// there is none. It is for providers that have no such marks.
func (r *Request) CacheMark() string {
	for i := range r.Tools {
		if r.Tools[i].Cache.Present() {
			return ToolPath(r.Tools, i) + ".cache_control"
		}
	}
	for _, m := range r.Messages {
		if p := cacheMark(m.Path, m.Parts); p != "" {
			return p
		}
	}
	if r.Cache.Present() {
		return "cache_control"
	}
	return ""
}

func cacheMark(parent string, parts []Part) string {
	for i := range parts {
		path := PartPath(parent, parts, i)
		if parts[i].Cache.Present() {
			return path + ".cache_control"
		}
		if res := parts[i].Result; res != nil {
			if p := cacheMark(path, res.Parts); p != "" {
				return p
			}
		}
	}
	return ""
}

// ExtraMarks gives the cache_controls of parts and tools that are more than limit, and the client's paths of them, for
// providers that refuse a request with too many: of those in the turns the earliest, the last one excepted, then those of
// the system's first messages, then those of tools. What a mark has the provider keep, a later one has it keep too.
func (r *Request) ExtraMarks(limit int) map[*Value]string {
	var tools, system, turns []mark
	for i := range r.Tools {
		if c := &r.Tools[i].Cache; c.Present() {
			tools = append(tools, mark{c, ToolPath(r.Tools, i)})
		}
	}
	leading := true
	for _, m := range r.Messages {
		if leading = leading && (m.Role == System || m.Role == Developer); leading {
			system = append(system, marks(m.Path, m.Parts)...)
		} else {
			turns = append(turns, marks(m.Path, m.Parts)...)
		}
	}
	extra := len(tools) + len(system) + len(turns) - limit
	if r.Cache.Present() {
		extra++
	}
	if extra <= 0 {
		return nil
	}
	if n := len(turns); n > 0 {
		turns = turns[:n-1]
	}
	all := append(append(turns, system...), tools...)
	out := make(map[*Value]string)
	for _, m := range all[:min(extra, len(all))] {
		out[m.cache] = m.path + ".cache_control"
	}
	return out
}

// mark is where a cache_control stands.
type mark struct {
	cache *Value
	path  string
}

// marks gives those of some parts. A result is one place, wherever in it the mark stands.
func marks(parent string, parts []Part) []mark {
	var all []mark
	for i := range parts {
		path := PartPath(parent, parts, i)
		if parts[i].Cache.Present() || parts[i].Result != nil && cacheMark(path, parts[i].Result.Parts) != "" {
			all = append(all, mark{&parts[i].Cache, path})
		}
	}
	return all
}
