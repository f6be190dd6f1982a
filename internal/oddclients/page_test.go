package oddclients

import (
	"fmt"
	"strings"
)

const head = `<!-- Written by go generate ./internal/oddclients. Do not edit. -->

# Odd clients

Requests of clients and proxies that do what few others do, each sent byte by byte to a running host,
and what comes back. The test that sends them fails when anything else does. The host answers for
` + "`mcp.example.com` and `.apps.example.org`" + `, and lists the origins
` + "`https://page.example`, `chrome-extension://abcdefghijklmnopabcdefghijklmnop` and " +
	"`vscode-webview://*`" + `.
Where a row does not say otherwise the request has a key, and is in order.

| client | sends | answer | why that is right |
|---|---|---|---|
`

// page renders the table as the documentation page.
func page() string {
	var b strings.Builder
	b.WriteString(head)
	for _, o := range table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", o.name, describe(o), o.want, o.right)
	}
	return b.String()
}

// describe describes the unusual parts of a request.
func describe(o odd) string {
	var parts []string
	for i, line := range strings.Split(strings.TrimRight(o.head, "\n"), "\n") {
		if strings.HasPrefix(line, "!") || i == 0 && line == strings.TrimRight(post, "\n") {
			continue
		}
		parts = append(parts, "`"+strings.TrimSuffix(line, " HTTP/1.1")+"`")
	}
	if o.body != "" && o.body != hello && o.body != ping && o.body != discover {
		parts = append(parts, "`"+strings.TrimPrefix(o.body, `{"jsonrpc":"2.0","id":7,`)+"`")
	}
	if strings.Contains(o.head, "!Authorization") && !strings.Contains(o.head, "X-API-Key") {
		parts = append(parts, "no `Authorization`")
	}
	if o.proxy {
		parts = append(parts, "from a trusted proxy")
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), "|", `\|`)
}
