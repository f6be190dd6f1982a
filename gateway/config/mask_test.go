package config

import (
	"slices"
	"strings"
	"testing"
)

// Credentials are left out of arguments wherever they stand. Other values stay readable.
func TestSecretsInArgumentsAreLeftOut(t *testing.T) {
	const secret = "s3cr3t-w0rd"
	for _, c := range []struct{ args, shown []string }{
		{[]string{"--api-key", secret}, []string{"--api-key", "<redacted>"}},
		{[]string{"--api-key=" + secret}, []string{"--api-key=<redacted>"}},
		{[]string{"-token", secret, "--verbose"}, []string{"-token", "<redacted>", "--verbose"}},
		{[]string{"-p", secret, "--verbose"}, []string{"-p", "<redacted>", "--verbose"}},
		{[]string{"-u", "me", "-P", secret}, []string{"-u", "me", "-P", "<redacted>"}},
		{[]string{"-p=" + secret}, []string{"-p=<redacted>"}},
		{[]string{"-p", "123456"}, []string{"-p", "<redacted>"}},
		{[]string{"-p", "--verbose"}, nil},
		{[]string{"-u", "me", "-p" + secret}, []string{"-u", "me", "-p<redacted>"}},
		{[]string{"-P" + secret, "-pA=b" + secret}, []string{"-P<redacted>", "-p<redacted>"}},
		{[]string{"-p123456", "-p${env:TOKEN}"}, []string{"-p<redacted>", "-p${env:TOKEN}"}},
		{[]string{"-c", "mysql -u me -p" + secret + " db"}, []string{
			"-c", "mysql -u me -p<redacted> db",
		}},
		{[]string{"-c", "mysql -p'" + secret + " x' db"}, []string{"-c", "mysql -p<redacted> db"}},
		{[]string{"-u", "me:" + secret}, []string{"-u", "me:<redacted>"}},
		{[]string{"--user=me:" + secret, "--proxy-user", "me:" + secret}, []string{
			"--user=me:<redacted>", "--proxy-user", "me:<redacted>",
		}},
		{[]string{"-HX-Whatever: " + secret, "-eCOLOUR=" + secret}, []string{
			"-HX-Whatever: <redacted>", "-eCOLOUR=<redacted>",
		}},
		{[]string{"--creds", secret, "--pin", "123456", "--otp=123456"}, []string{
			"--creds", "<redacted>", "--pin", "<redacted>", "--otp=<redacted>",
		}},
		{[]string{"--hook", "https://host/s/8f14e45fceea167a5a36dedd4bea2543/x"}, []string{
			"--hook", "https://host/s/<redacted>/x",
		}},
		{[]string{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"}, []string{
			"<redacted>",
		}},
		{[]string{"run", "-u", "1000:1000", "-port", "80", "-path=/srv", "-parallel", "-prefix=x",
			"-print"}, nil},
		{[]string{"--pw", secret}, []string{"--pw", "<redacted>"}},
		{[]string{"--pass", secret}, []string{"--pass", "<redacted>"}},
		{[]string{"-c", "mysql -u me -p " + secret + " db"}, []string{
			"-c", "mysql -u me -p <redacted> db",
		}},
		{[]string{"-p", "${env:TOKEN}"}, nil},
		{[]string{"--token", "-" + secret}, []string{"--token", "<redacted>"}},
		{[]string{"--githubToken", secret}, []string{"--githubToken", "<redacted>"}},
		{[]string{"--apiKey=" + secret}, []string{"--apiKey=<redacted>"}},
		{[]string{"--db-password", secret}, []string{"--db-password", "<redacted>"}},
		{[]string{"API_KEY=" + secret}, []string{"API_KEY=<redacted>"}},
		{[]string{"run", "-e", "COLOUR=" + secret, "image"}, []string{
			"run", "-e", "COLOUR=<redacted>", "image",
		}},
		{[]string{"--env=GITHUB_TOKEN=" + secret}, []string{"--env=GITHUB_TOKEN=<redacted>"}},
		{[]string{"-y", "--env=GITHUB_TOKEN=" + secret}, []string{"-y", "--env=GITHUB_TOKEN=<redacted>"}},
		{[]string{"-y", "-e=GITHUB_TOKEN=" + secret}, []string{"-y", "-e=GITHUB_TOKEN=<redacted>"}},
		{[]string{"--set=a=b,API_KEY=" + secret}, []string{"--set=a=b,API_KEY=<redacted>"}},
		{[]string{"--header=Authorization: Bearer " + secret}, []string{
			"--header=Authorization: <redacted>",
		}},
		{[]string{"-H", "X-Whatever: " + secret}, []string{"-H", "X-Whatever: <redacted>"}},
		{[]string{"--header", "Authorization:Bearer " + secret}, []string{
			"--header", "Authorization: <redacted>",
		}},
		{[]string{"Authorization: Bearer " + secret}, []string{"Authorization: <redacted>"}},
		{[]string{"https://me:" + secret + "@host/mcp"}, []string{"https://<redacted>@host/mcp"}},
		{[]string{"postgres://me:" + secret + "@host/db"}, []string{"postgres://<redacted>@host/db"}},
		{[]string{"--url=https://host/mcp?key=" + secret}, []string{"--url=https://host/mcp?<redacted>"}},
		{[]string{"https://host/mcp#access_token=" + secret}, []string{"https://host/mcp#<redacted>"}},
		{[]string{"me:" + secret + "@tcp(host)/db"}, []string{"me:<redacted>@tcp(host)/db"}},
		{[]string{"host=h password=" + secret + " user=me"}, []string{
			"host=h password=<redacted> user=me",
		}},
		{[]string{"Server=h;Password=" + secret + ";User=me"}, []string{
			"Server=h;Password=<redacted>;User=me",
		}},
		{[]string{"-c", "API_TOKEN='" + secret + "' exec server --port 80"}, []string{
			"-c", "API_TOKEN=<redacted> exec server --port 80",
		}},
		{[]string{"-c", "server --token " + secret + " --port 80"}, []string{
			"-c", "server --token <redacted> --port 80",
		}},
		{[]string{`{"apiKey": "` + secret + `", "port": 80}`}, []string{
			`{"apiKey": <redacted>, "port": 80}`,
		}},
		{[]string{"ghp_" + strings.Repeat("a1", 18)}, []string{"<redacted>"}},
		{[]string{"sk-proj-" + strings.Repeat("a1", 18)}, []string{"<redacted>"}},
		{[]string{"AKIAIOSFODNN7EXAMPLE"}, []string{"<redacted>"}},
		{[]string{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"}, []string{"<redacted>"}},
		{[]string{"8f14e45fceea167a5a36dedd4bea2543"}, []string{"<redacted>"}},
		{[]string{"123e4567-e89b-12d3-a456-426614174000"}, []string{"<redacted>"}},
		{[]string{"--token", "${env:TOKEN}"}, []string{"--token", "${env:TOKEN}"}},
		{[]string{"--token=${env:TOKEN}"}, []string{"--token=${env:TOKEN}"}},
		{[]string{"--token=x-${env:TOKEN}"}, []string{"--token=${env:TOKEN}<redacted>"}},
		{[]string{"-H", "Authorization: Bearer ${env:TOKEN}"}, []string{
			"-H", "Authorization: Bearer ${env:TOKEN}",
		}},

		{[]string{"-y", "@modelcontextprotocol/server-filesystem", "/srv/data"}, nil},
		{[]string{"--port", "8080", "--max-tokens", "4096", "--token-file", "/run/token", "--log=debug"},
			nil},
		{[]string{"run", "--rm", "-i", "mcp/fetch:1.2", "--user-agent=me/1.0"}, nil},
		{[]string{"https://host:8080/mcp/path", "git@github.com:me/repo.git", "C:/data", "12:30"}, nil},
		{[]string{"a-long-name-of-something-with-many-words-2.json", "--keyboard", "de", "--monkey", "x"},
			nil},
		{[]string{"-c", "echo hello; sleep 5"}, nil},
	} {
		text := "mcpServers: {a: {command: x, args: ["
		for i, arg := range c.args {
			if i > 0 {
				text += ", "
			}
			text += quote(arg)
		}
		loaded, err := Load([]byte(text+"]}}"), options(""))
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		server, _ := loaded.Tenants[0].Server("a")
		want := c.shown
		if want == nil {
			want = c.args
		}
		if got := texts(server.Args); !slices.Equal(got, want) {
			t.Errorf("%q: shown as %q, want %q", c.args, got, want)
		}
		if strings.Contains(string(Print(loaded)), secret) {
			t.Errorf("%q is printed:\n%s", c.args, Print(loaded))
		}
	}
}

// A URL is shown without its query and without apparent credentials in its path. Messages about a
// URL follow the same rule.
func TestSecretsInURLsAreLeftOut(t *testing.T) {
	for url, want := range map[string]string{
		"https://host/mcp?key=s3cr3t":                             "https://host/mcp?<redacted>",
		"https://host/s/8f14e45fceea167a5a36dedd4bea2543/mcp?a=b": "https://host/s/<redacted>/mcp?<redacted>",
		"https://host/8f14e45fceea167a5a36dedd4bea2543?a=b":       "https://host/<redacted>?<redacted>",
		"https://host/v1/my-server/mcp":                           "https://host/v1/my-server/mcp",
	} {
		c, err := Load([]byte("mcpServers: {a: {url: "+quote(url)+"}}"), options(""))
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := c.Tenants[0].Server("a"); s.URL.String() != want || s.URL.Reveal() != url {
			t.Errorf("%s: shown as %s, want %s", url, s.URL, want)
		}
	}
	_, err := Load([]byte("mcpServers: {a: {url: 'https://me:s3cr3t@host/mcp'}}"), options(""))
	if err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("a password in a URL: %v", err)
	}
}
