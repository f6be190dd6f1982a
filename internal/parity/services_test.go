package parity

// page returns the steps for a server that has a page for MCP Apps.
func page(tool, uri string) []step {
	return []step{call(tool, `{}`), call(tool, `{"segment": 5, "customInputs": "x"}`), read(uri)}
}

// apps are servers with user interfaces.
var apps = []published{{
	name: "clock", pkg: "@modelcontextprotocol/server-basic-react", bin: "dist/index.js",
	kind: stdio, args: []string{"--stdio"}, steps: page("get-time", "ui://get-time/mcp-app.html"),
}, {
	name: "clock-remote", pkg: "@modelcontextprotocol/server-basic-react", bin: "dist/index.js",
	kind: https, quick: true, steps: page("get-time", "ui://get-time/mcp-app.html"),
}, {
	name: "budget", pkg: "@modelcontextprotocol/server-budget-allocator", bin: "dist/index.js",
	kind: https, steps: page("get-budget-data", "ui://budget-allocator/mcp-app.html"),
}, {
	name: "scenario", pkg: "@modelcontextprotocol/server-scenario-modeler", bin: "dist/index.js",
	kind: https, steps: page("get-scenario-data", "ui://scenario-modeler/mcp-app.html"),
}, {
	name: "segments", pkg: "@modelcontextprotocol/server-customer-segmentation", bin: "dist/index.js",
	kind: https,
	steps: []step{
		read("ui://customer-segmentation/mcp-app.html"), call("get-customer-data", `{"segment": 5}`),
	},
}}

// services are servers that call remote services with an API key. They answer list requests without
// a valid key.
var services = []published{{
	name: "brave", pkg: "@modelcontextprotocol/server-brave-search", bin: "dist/index.js",
	kind: stdio, env: []string{"BRAVE_API_KEY=none"},
	steps: []step{call("brave_web_search", `{"query": 5}`)},
}, {
	name: "github", pkg: "@modelcontextprotocol/server-github", bin: "dist/index.js",
	kind:  stdio,
	steps: []step{call("get_issue", `{"owner": "a", "repo": 5}`), call("search_code", `{}`)},
}, {
	name: "slack", pkg: "@modelcontextprotocol/server-slack", bin: "dist/index.js",
	kind: stdio, env: []string{"SLACK_BOT_TOKEN=none", "SLACK_TEAM_ID=none"},
	steps: []step{call("slack_post_message", `{"text": "a"}`)},
}, {
	name: "maps", pkg: "@modelcontextprotocol/server-google-maps", bin: "dist/index.js",
	kind: stdio, env: []string{"GOOGLE_MAPS_API_KEY=none"},
	steps: []step{call("maps_distance_matrix", `{}`)},
}, {
	name: "gitlab", pkg: "@modelcontextprotocol/server-gitlab", bin: "dist/index.js",
	kind: stdio, env: []string{"GITLAB_PERSONAL_ACCESS_TOKEN=none"},
	steps: []step{call("create_issue", `{}`)},
}, {
	name: "context7", pkg: "@upstash/context7-mcp", bin: "dist/index.js",
	kind: stdio, steps: []step{call("resolve-library-id", `{}`)},
}, {
	name: "notion", pkg: "@notionhq/notion-mcp-server", bin: "bin/cli.mjs",
	kind: stdio, env: []string{"NOTION_TOKEN=ntn_none"},
}, {
	name: "tavily", pkg: "tavily-mcp", bin: "build/index.js",
	kind: stdio, env: []string{"TAVILY_API_KEY=none"},
}, {
	name: "figma", pkg: "figma-developer-mcp", bin: "dist/bin.js",
	kind: stdio, args: []string{"--stdio", "--figma-api-key=none"},
	env:   []string{"DO_NOT_TRACK=1", "FRAMELINK_TELEMETRY=off"},
	steps: []step{call("get_figma_data", `{}`), call("download_figma_images", `{"fileKey": "../x"}`)},
}, {
	name: "airtable", pkg: "airtable-mcp-server", bin: "dist/main.js",
	kind: stdio, env: []string{"AIRTABLE_API_KEY=none"}, steps: []step{call("list_tables", `{}`)},
}, {
	name: "travel", pkg: "@gongrzhe/server-travelplanner-mcp", bin: "dist/index.js",
	kind: stdio, env: []string{"GOOGLE_MAPS_API_KEY=none"},
	steps: []step{call("create_itinerary", `{}`)},
}, {
	name: "mui", pkg: "@mui/mcp", bin: "stdio.js",
	kind: stdio, steps: []step{call("fetchDocs", `{}`)},
}}
