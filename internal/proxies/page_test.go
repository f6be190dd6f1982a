package proxies

import (
	"os"
	"strings"
	"testing"
)

// block returns the fenced code block of docs/proxies.md that has the given language.
func block(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n```"+language+"\n")
	text, _, ended := strings.Cut(rest, "\n```\n")
	if !found || !ended {
		t.Fatalf("docs/proxies.md has no block in %s", language)
	}
	return text + "\n"
}

// fill replaces placeholders of the page by the values of the test. The test fails if the page
// lacks one of the placeholders.
func fill(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("docs/proxies.md has no %q in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
