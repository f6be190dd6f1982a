package parity

// tools are servers that do their work on this machine.
var tools = []published{{
	name: "hello", pkg: "mcp-hello-world", bin: "build/stdio.js", kind: stdio, quick: true,
	steps: hello,
}, {
	name: "agent-files", pkg: "@agent-infra/mcp-server-filesystem", bin: "dist/index.cjs",
	kind: stdio, args: []string{"--allowed-directories", "$DIR"},
	files: map[string]string{"hello.txt": "hello\nfrom a file\n"},
	steps: []step{
		call("list_allowed_directories", `{}`),
		call("read_file", `{"path": "$DIR/hello.txt"}`),
		call("write_file", `{"path": "$DIR/new.txt", "content": "grüße 😀"}`),
		call("list_directory", `{"path": "$DIR"}`),
		call("read_file", `{"path": "/etc/passwd"}`),
		call("read_file", `{}`),
	},
}, {
	name: "obsidian", pkg: "mcp-obsidian", bin: "dist/index.js", kind: stdio, args: []string{"$DIR"},
	files: map[string]string{".obsidian/app.json": "{}", "note.md": "# A note\n"},
	steps: []step{
		call("search_notes", `{"query": "note"}`),
		call("read_notes", `{"paths": ["note.md", "missing.md"]}`),
		call("read_notes", `{}`),
	},
}, {
	name: "eslint", pkg: "@eslint/mcp", bin: "src/mcp-cli.js", kind: stdio,
	files: map[string]string{
		"eslint.config.mjs": `export default [{ rules: { "no-var": "error" } }];`,
		"a.js":              "var a = 1;\n",
	},
	steps: []step{
		call("lint-files", `{"filePaths": ["$DIR/a.js"]}`),
		call("lint-files", `{"filePaths": ["$DIR/missing.js"]}`),
		call("lint-files", `{"filePaths": []}`),
	},
}, {
	name: "runner", pkg: "mcp-server-code-runner", bin: "dist/cli.js", kind: stdio, steps: runner,
}, {
	name: "charts", pkg: "@antv/mcp-server-chart", bin: "build/index.js",
	kind: stdio, env: chartServer, steps: charts,
}, {
	name: "graphql", pkg: "mcp-graphql", bin: "dist/index.js",
	kind: stdio, env: []string{"ENDPOINT=http://127.0.0.1:1/graphql"},
	steps: []step{
		call("query-graphql", `{"query": "{"}`),
		call("introspect-schema", `{}`),
		read("http://127.0.0.1:1/graphql"),
	},
}, {
	name: "playwright", pkg: "@playwright/mcp", bin: "cli.js",
	kind: stdio, args: []string{"--headless"}, steps: browser,
}, {
	name: "chrome", pkg: "chrome-devtools-mcp", bin: "build/src/bin/chrome-devtools-mcp.js",
	kind: stdio, args: []string{"--no-usage-statistics"},
	env:   []string{"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=1"},
	steps: []step{call("click", `{}`)},
}}

// remotes are servers with a URL. apps has more of them.
var remotes = []published{{
	name: "everything-remote", pkg: "@modelcontextprotocol/server-everything", bin: "dist/index.js",
	kind: https, args: []string{"streamableHttp"}, steps: everything,
}, {
	name: "everything-sse", pkg: "@modelcontextprotocol/server-everything", bin: "dist/index.js",
	kind: sse, args: []string{"sse"}, quick: true, steps: everything,
}, {
	// The server serves one connection at a time.
	name: "hello-sse", pkg: "mcp-hello-world", bin: "build/http.js", kind: sse, steps: hello,
}, {
	name: "runner-remote", pkg: "mcp-server-code-runner", bin: "dist/cli.js",
	kind: https, args: []string{"--transport", "http", "--port", "$PORT"}, steps: runner,
}, {
	name: "charts-remote", pkg: "@antv/mcp-server-chart", bin: "build/index.js",
	kind: https, args: []string{"--transport", "streamable", "--host", "127.0.0.1", "--port", "$PORT"},
	env: chartServer, steps: charts,
}, {
	name: "charts-sse", pkg: "@antv/mcp-server-chart", bin: "build/index.js",
	kind: sse, args: []string{"--transport", "sse", "--host", "127.0.0.1", "--port", "$PORT"},
	env: chartServer, steps: charts,
}, {
	name: "playwright-remote", pkg: "@playwright/mcp", bin: "cli.js",
	kind:  https,
	args:  []string{"--headless", "--host", "127.0.0.1", "--port", "$PORT", "--allowed-hosts", "*"},
	steps: browser,
}, {
	name: "context7-remote", pkg: "@upstash/context7-mcp", bin: "dist/index.js",
	kind: https, args: []string{"--transport", "http", "--port", "$PORT"},
	steps: []step{call("resolve-library-id", `{}`)},
}}

var (
	hello = []step{
		call("echo", `{"message": "grüße 😀"}`),
		call("add", `{"a": 2, "b": 40}`),
		call("debug", `{}`),
		call("add", `{"a": "x"}`),
		prompt("helpful-assistant", `{}`),
		read("hello://world"),
		read("greeting://ann"),
	}
	runner = []step{
		call("run-code", `{"code": "console.log(6 * 7)", "languageId": "javascript"}`),
		call("run-code", `{"code": "x", "languageId": "none"}`),
		call("run-code", `{}`),
	}
	browser = []step{call("browser_navigate", `{}`), call("browser_click", `{"ref": 5}`)}
	charts  = []step{
		call("generate_pie_chart", `{"data": [{"category": "a", "value": 1}]}`),
		call("generate_pie_chart", `{"data": 5}`),
		call("generate_pie_chart", `{}`),
	}
	// chartServer replaces the address of a chart-drawing service on the internet. Nothing listens
	// there.
	chartServer = []string{"VIS_REQUEST_SERVER=http://127.0.0.1:1/"}
)
