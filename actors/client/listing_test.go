package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// The lists of a server in text: the server's actions, and, indented, the effects. A list is known
// with its items, and is in news when clients are to be told.
func TestListing(t *testing.T) {
	for name, story := range map[string]string{
		"pages": `
server starts
  server < tools/list
server lists a b more
  server < tools/list "more"
server lists c
  tools are a b c
server is ready
`,
		"announced": `
server starts
  server < tools/list
server lists a
  tools are a
server is ready
server announces
  server < tools/list
server announces
server lists a
  tools are a, news
  tools wait 100ms
server announces
wait 100ms
  server < tools/list
server lists b
  tools are b, news
`,
		"an announcement while it starts": `
server starts
  server < tools/list
server announces
server lists a
  tools are a, news
server is ready
  tools wait 100ms
`,
		"cannot be had": `
server starts
  server < tools/list
server fails
  tools are, failed
server is ready
  tools wait 100ms
wait 100ms
  server < tools/list
server lists a
  tools are a, news
server announces
  tools wait 200ms
wait 200ms
  server < tools/list
server fails
  tools are a, news, older
  tools wait 400ms
`,
		"unknown to the server": `
server starts
  server < tools/list
server refuses
  tools are
server is ready
`,
		"a page for ever": `
server starts
  server < tools/list
server lists a more
  server < tools/list "more"
server lists a more
  an operator hears of loop
  tools are a
server starts
  server < tools/list
server lists a more
  server < tools/list "more"
server lists a more
  tools are a
`,
		"a crash": `
server starts
  server < tools/list
server lists a
  tools are a
server is ready
host crashes
server starts
  server < tools/list
server lists b
  tools are b, news
`,
		"a crash before it was ready": `
server starts
  server < tools/list
server lists a
  tools are a
host crashes
server starts
  server < tools/list
server lists b
  tools are b
`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := playLists(t, story); got != story {
				t.Errorf("the lists do\n%s", got)
			}
		})
	}
}

func playLists(t *testing.T, story string) string {
	capabilities, err := protocol.ParseServerCapabilities(
		jsontext.Value(`{"tools":{"listChanged":true}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	l, got, due := &listing{}, strings.Builder{}, time.Time{}
	now, ready := time.Unix(1_800_000_000, 0), false
	for line := range strings.Lines(story) {
		if strings.HasPrefix(line, "  ") {
			continue // written again below
		}
		got.WriteString(line)
		s := listStep{
			listing: l, now: now, ready: ready,
			facts: Facts{Version: protocol.V20251125, Capabilities: capabilities},
		}
		words := append(strings.Fields(line), "", "")
		switch words[0] + " " + words[1] {
		case "server starts":
			s.ready, ready = false, false
			l.reset()
			s.all()
			l.fetching[catalog.Tools].told = false
		case "server is":
			s.ready, ready, l.ever, l.announce = true, true, true, nil
			s.resume()
		case "server lists":
			var items []string
			result := "{"
			for _, w := range words[2:] {
				if w == "more" {
					result += `"nextCursor":"more",`
				} else if w != "" {
					items = append(items, `{"name":"`+w+`","inputSchema":{"type":"object"}}`)
				}
			}
			s.page(catalog.Tools, jsontext.Value(result+`"tools":[`+strings.Join(items, ",")+"]}"), nil)
		case "server fails":
			s.page(catalog.Tools, nil, errors.New("no"))
		case "server refuses":
			s.page(catalog.Tools, nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound})
		case "server announces":
			s.announced([]catalog.Kind{catalog.Tools})
		case "host crashes":
			l.resume()
		default:
			d, _ := time.ParseDuration(words[1])
			if now = now.Add(d); !due.IsZero() && !now.Before(due) {
				s.now, due = now, time.Time{}
				s.due(catalog.Tools)
			}
		}
		for _, e := range s.effects {
			switch e.do {
			case askPage:
				fmt.Fprintln(&got, strings.TrimSuffix(fmt.Sprintf("  server < %s %s", e.kind.Method(),
					e.cursor), " null"))
			case pauseList:
				due = now.Add(e.wait)
				fmt.Fprintf(&got, "  %s wait %v\n", e.kind, e.wait)
			case cutList:
				fmt.Fprintf(&got, "  an operator hears of %s\n", e.cut.Reason)
			case knowList:
				names := []string{e.kind.String(), "are"}
				for _, item := range l.lists[e.kind] {
					names = append(names, strings.Split(string(item), `"`)[3])
				}
				text := strings.Join(names, " ")
				if len(l.announce) > 0 {
					text += ", news"
				}
				if short := l.short(s.facts)[e.kind].State; short.Lacks() {
					text += ", " + map[Completeness]string{Older: "older", Waiting: "waiting",
						Failed: "failed"}[short]
				}
				fmt.Fprintln(&got, "  "+text)
				l.announce = nil
			}
		}
	}
	return got.String()
}
