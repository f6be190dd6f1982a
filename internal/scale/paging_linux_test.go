package scale

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// pager is a client that pages through the list of tools.
type pager struct {
	t       *testing.T
	url     string
	headers http.Header
}

// page asks for one page. It returns the names of the page's tools and the cursor of the next
// page.
func (p *pager) page(cursor string) (names []string, next string) {
	p.t.Helper()
	params := "{}"
	if cursor != "" {
		params = `{"cursor":` + strconv.Quote(cursor) + `}`
	}
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + params + `}`)
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header = p.headers
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	var m struct {
		Error  *load.CallError `json:"error"`
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			Next string `json:"nextCursor"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Error != nil {
		p.t.Fatalf("tools/list with cursor %q: %v, %v", cursor, err, m.Error)
	}
	for _, tool := range m.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, m.Result.Next
}

// list reads all pages, and calls between after each page. No tool may come twice.
func (p *pager) list(between func(page int)) (tools map[string]bool, pages int) {
	p.t.Helper()
	tools, cursor := map[string]bool{}, ""
	for pages == 0 || cursor != "" {
		var names []string
		names, cursor = p.page(cursor)
		for _, name := range names {
			if tools[name] {
				p.t.Errorf("%s comes twice", name)
			}
			tools[name] = true
		}
		pages++
		between(pages)
	}
	return tools, pages
}

// lists is how often cost reads the list for the mean processor time of a page.
const lists = 10

// cost returns the mean processor time of a page and the number of pages.
func (p *pager) cost(pid int) (perPage time.Duration, pages int) {
	p.t.Helper()
	before, all := usageOf(p.t, pid), 0
	for range lists {
		_, pages = p.list(func(int) {})
		all += pages
	}
	return usageOf(p.t, pid).since(before).cpu / time.Duration(all), pages
}

// A client pages through the list of all tools while servers come up between any two pages. The
// tools of every server that was there from the beginning come once. If any other tool is
// missing, the client is told that the list has changed, and finds all tools afterwards. The cost
// of a page does not grow with the number of pages.
func TestPagesWhileServersStart(t *testing.T) {
	n := 400
	if *full {
		n = 1000
	}
	s := startServers(t, n)
	host := mcptest.Start(t, mcptest.HostOptions{Config: s.config("list_wait: 1s"), Binary: *binary})
	a := &audience{}
	session, err := load.Connect(t.Context(), load.SessionOptions{URL: host.MCP + "/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := session.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	heard := &stream{received: map[string]int{}}
	a.streams = append(a.streams, heard)
	a.reading.Go(func() { a.read(heard, body) })
	t.Cleanup(func() { _ = body.Close(); a.reading.Wait() })
	p := &pager{t, host.MCP + "/mcp", session.Headers()}

	up := 0
	letGo := func(to int) { // in an order that is not that of their numbers and names
		for ; up < min(to, n); up++ {
			s.allowStart(up * 7 % n)
		}
	}
	settle := func() {
		end := time.Now().Add(time.Minute)
		for s.answered("resources/templates/list") < up || time.Since(s.lastList()) < quietAfterBurst {
			if time.Sleep(10 * time.Millisecond); time.Now().After(end) {
				t.Fatalf("%d of %d servers were listed", s.answered("resources/templates/list"), up)
			}
		}
	}
	letGo(n / 2)
	settle()
	half, pages := p.cost(host.PID())
	begin := a.summary().totalText()
	first, _ := p.list(func(page int) { letGo(n/2 + page*n/2/pages) })
	letGo(n)
	settle()
	for at := range up {
		if i := at * 7 % n; at < n/2 {
			for _, tool := range s.tools(i) {
				if name := nameOf(i) + "__" + nameIn(t, tool); !first[name] {
					t.Errorf("%s was there all the while, and does not come", name)
				}
			}
		}
	}
	if told := a.summary().totalText(); len(first) < n*toolsPerServer && told == begin {
		t.Errorf("%d of %d tools came, and the client was told of no change", len(first),
			n*toolsPerServer)
	}
	if all, _ := p.list(func(int) {}); len(all) != n*toolsPerServer {
		t.Errorf("%d tools of %d came afterwards", len(all), n*toolsPerServer)
	}
	whole, more := p.cost(host.PID())
	notePages(t, n, half, pages, whole, more)
	if whole > 2*half+tick {
		t.Errorf("a page of %d costs %v, and one of %d %v", more, whole, pages, half)
	}
}

// nameIn returns the name of a tool.
func nameIn(t *testing.T, tool string) string {
	t.Helper()
	var m struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(tool), &m); err != nil {
		t.Fatal(err)
	}
	return m.Name
}

// totalText returns how often clients were told of a change.
func (s summary) totalText() string { return fmt.Sprint(s.total) }
