package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// browsers are the browser programs that can run the page. The test uses the first that is
// installed.
var browsers = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}

// modules maps the imports of the page to files in node_modules: the browser build of the SDK and
// its dependencies.
var modules = map[string]string{
	"@modelcontextprotocol/client":        "@modelcontextprotocol/client/dist/index.mjs",
	"@modelcontextprotocol/client/_shims": "@modelcontextprotocol/client/dist/shimsBrowser.mjs",
	"@modelcontextprotocol/core/internal": "@modelcontextprotocol/core/dist/internal.mjs",
	"eventsource":                         "eventsource/dist/index.js",
	"eventsource-parser":                  "eventsource-parser/dist/index.js",
	"eventsource-parser/stream":           "eventsource-parser/dist/stream.js",
	"pkce-challenge":                      "pkce-challenge/dist/index.browser.js",
	"zod/v4":                              "zod/v4/index.js",
}

// A page of another origin uses a host in both eras, with arguments that are sent as header fields.
// Seven pages at once over plain HTTP do not block each other, although a browser opens at most six
// connections to a host.
func TestPagesOfAnotherOrigin(t *testing.T) {
	i := slices.IndexFunc(browsers, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if i < 0 {
		t.Skipf("needs a browser: none of %s is installed", strings.Join(browsers, ", "))
	}
	dir := mcptest.Modules(t)
	page, err := os.ReadFile("testdata/browser.html")
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{}
	for name, path := range modules {
		imports[name] = "/node_modules/" + path
	}
	all, err := json.Marshal(map[string]any{"imports": imports})
	if err != nil {
		t.Fatal(err)
	}
	page = bytes.Replace(page, []byte("IMPORTS"), all, 1)

	type report struct {
		Eras, Answers []string
		Ready         int
	}
	reports := make(chan report, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write(page)
	})
	mux.HandleFunc("GET /node_modules/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	})
	mux.HandleFunc("POST /seen", func(_ http.ResponseWriter, r *http.Request) {
		var seen report
		text, err := io.ReadAll(r.Body)
		if err = errors.Join(err, json.Unmarshal(text, &seen)); err != nil {
			t.Error(err)
		}
		select {
		case reports <- seen:
		default: // the test has its report
		}
	})
	origin := listen(t, mux)
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"origins: [%q]\ntenants: {acme: {auth: {keys: [%s]}, servers: {s: {builtin: demo}}}}\n", origin,
		keyConfig("ann", "key-of-ann"))})
	at := origin + "/?" + url.Values{"url": {host.MCP + "/t/acme/s/mcp"},
		"key": {"key-of-ann"}}.Encode()
	browser := exec.Command(browsers[i], "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage",
		// without the port it exits when the page is loaded
		"--remote-debugging-port=0", "--user-data-dir="+t.TempDir(), at)
	var said bytes.Buffer
	browser.Stdout, browser.Stderr = &said, &said
	group(browser)
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	// owner: killGroup, which waits for this goroutine
	go func() { _ = browser.Wait(); close(ended) }()
	var seen report
	select {
	case seen = <-reports:
		killGroup(browser, ended)
	case <-time.After(time.Minute):
		killGroup(browser, ended)
		t.Fatalf("the page says nothing:\n%s", said.String())
	}
	if len(seen.Eras) != 3 || seen.Eras[0] != modern+" The region is auto." ||
		seen.Eras[1] != legacy+" The region is legacy." ||
		!strings.Contains(seen.Eras[2], "The region is fields.") {
		t.Errorf("the eras came to %q", seen.Eras)
	}
	answered := 0
	for _, answer := range seen.Answers {
		if strings.Contains(answer, "tab") {
			answered++
		}
	}
	if answered != 7 {
		t.Errorf("of seven pages %d were answered: %q (%d had begun)", answered, seen.Answers, seen.Ready)
	}
}
