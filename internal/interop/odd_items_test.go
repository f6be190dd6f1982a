package interop

import "strings"

// tools is a script that lists these tools, and one that is right.
func tools(items ...string) says {
	return says{"tools/list": {result(`{"tools":[` + strings.Join(append(items, oddTool("good")), ",") + `]}`)}}
}

// askTools asks for them. Aggregate is what the aggregate has of them.
func askTools(aggregate string) []oddAsk {
	return []oddAsk{{method: "tools/list", aggregate: aggregate}}
}

// oddItems are the rows of part 2: items of which the schemas allow no such form.
func oddItems() []oddRow {
	return []oddRow{
		{part: 2, name: "more-members", odd: "members that no schema has",
			says: tools(`{"name":"more","inputSchema":{"type":"object","x-own":[null]},"x-own":null}`), asks: askTools("")},
	}
}
