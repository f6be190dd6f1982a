package config

import (
	"regexp"
	"slices"
	"strings"

	"mcpd/gateway/tenant"
)

// maskArg returns an argument of a server without credentials. It recognizes a credential by its
// name, its place or its form. Before is the argument before it. In doubt it removes more than
// necessary, because a user who needs the value has the file.
func maskArg(before, shown string) string {
	if flag, value, ok := splitAttached(shown); ok && !secretName(before) {
		return flag + maskValue(flag, value)
	}
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") &&
		!strings.HasPrefix(shown, "--") {
		return maskValue(before, shown)
	}
	if flag, value, ok := strings.Cut(shown, "="); ok && strings.HasPrefix(flag, "-") {
		return flag + "=" + maskValue(flag, value)
	}
	return maskText(shown)
}

// splitAttached splits an argument into a flag of one letter and a value that follows without a
// space: a password after -p, a header after -H, a variable after -e.
func splitAttached(arg string) (flag, value string, ok bool) {
	if !attachment.MatchString(arg) {
		return "", "", false
	}
	flag, value = arg[:2], arg[2:]
	name, _, _ := strings.Cut(arg, "=")
	return flag, value, !passwordFlags[flag] || !slices.Contains(longer, name)
}

// attachment matches a flag of one letter with an attached value. longer are flags that begin
// like a flag for a password, in programs whose flags have one dash.
var (
	attachment = regexp.MustCompile(`^(?:-[pP][^=]|-H[A-Za-z0-9-]+:|-e[A-Z_][A-Z0-9_]*=)`)
	longer     = strings.Fields(`-package -packages -page -parallel -param -params -pass -passwd -password -path -paths -pattern
		-pid -platform -plugin -plugins -policy -poll -port -ports -prefix -preset -pretty -print -private -privileged
		-prod -production -profile -project -prompt -protocol -provider -proxy -public -publish -pull -pw`)
)

// maskValue returns the value of a flag without credentials.
func maskValue(flag, value string) string {
	switch name, rest, _ := strings.Cut(value, "="); {
	case envFlags[flag] && rest != "":
		return name + "=" + masked(rest)
	case secretName(flag):
		return masked(value)
	}
	if name, rest, ok := strings.Cut(value, ":"); ok && headerFlags[flag] {
		return name + ": " + masked(strings.TrimSpace(rest))
	} else if ok && loginFlags[flag] && !number.MatchString(name) {
		return name + ":" + masked(rest)
	}
	return maskText(value)
}

// envFlags are flags that take NAME=VALUE for the environment, as in docker. The values are hidden,
// as those of env are. sends are flags that take a header field. logins are flags that take a
// user and a password, or the numbers of a user and a group.
var (
	envFlags    = map[string]bool{"-e": true, "--env": true}
	headerFlags = map[string]bool{"-H": true, "--header": true, "--headers": true}
	loginFlags  = map[string]bool{
		"-u": true, "--user": true, "-U": true, "--proxy-user": true, "--login": true,
	}
	number = regexp.MustCompile(`^[0-9]+$`)
)

// These patterns match texts that may contain a credential. The first group and the group called
// name are shown. The group called secret is left out.
var (
	assigned = regexp.MustCompile(
		`(?P<name>[A-Za-z][A-Za-z0-9_.-]*|-[A-Za-z0-9_.-]+)(?P<is>\s*=\s*)(?P<secret>"[^"]*"|'[^']*'|[^\s;&,"']+)`,
	)
	member = regexp.MustCompile(
		`["']?(?P<name>[A-Za-z][A-Za-z0-9_.-]*)["']?(?P<is>\s*:\s*)(?P<secret>"[^"]*"|'[^']*'|[^\s;&,"'/][^;&,"'}]*)`,
	)
	following = regexp.MustCompile(
		`(?P<name>--?[A-Za-z][A-Za-z0-9_.-]*)(?P<is>\s+)(?P<secret>"[^"]*"|'[^']*'|[^\s"'-]\S*)`,
	)
	scheme   = regexp.MustCompile(`(?i)\b(bearer|basic)\s+(?P<secret>[^\s"']+)`)
	userinfo = regexp.MustCompile(`(://)(?P<secret>[^/?#\s"']*)@`)
	dsn      = regexp.MustCompile(`^([^@:/\s]+:)(?P<secret>[^@/\s]+)@`)
	query    = regexp.MustCompile(`(://[^?#\s"']*[?#])(?P<secret>[^\s"']+)`)
	// knownForms matches credentials by their form: the prefixes of known issuers, JSON web tokens,
	// and long random texts.
	knownForms = regexp.MustCompile(`\b(?P<secret>(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[a-z]|xapp|npm|hf|pypi|dop_v1|lin_api|ntn|secret|mcpd)[-_][A-Za-z0-9_-]{12,}` +
		`|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{12,}|SG\.[0-9A-Za-z_.-]{20,}|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]*)?)`)
	// inText matches a password after -p in a shell command.
	inText   = regexp.MustCompile(`(?:^|\s)(?P<name>-[pP](?P<secret>"[^"]*"|'[^']*'|[^\s"'=]\S*))`)
	pem      = regexp.MustCompile(`(?P<secret>-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*))`)
	location = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"']+`)
	uuid     = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	random   = regexp.MustCompile(`^[A-Za-z0-9_=+-]{32,}$`)
)

// maskText leaves credentials out of a text.
func maskText(s string) string {
	if seemsRandom(s) {
		return masked(s)
	}
	for _, re := range []*regexp.Regexp{assigned, member, following} {
		s = replace(re, s, secretName)
	}
	s = replace(inText, s, func(arg string) bool { _, _, ok := splitAttached(arg); return ok })
	for _, re := range []*regexp.Regexp{pem, scheme, userinfo, dsn, query, knownForms} {
		s = replace(re, s, nil)
	}
	return location.ReplaceAllStringFunc(s, maskPath)
}

// maskUser replaces user and password in a URL. The result is still a URL.
func maskUser(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	at := strings.LastIndex(rest, "@")
	if !ok || at < 0 {
		return url
	}
	return scheme + "://redacted" + rest[at:]
}

// maskPath leaves credentials out of the path of a URL, because some services have them there.
func maskPath(url string) string {
	parts := strings.Split(url, "/")
	for i := 3; i < len(parts); i++ { // after scheme, nothing and host
		if part, _, _ := strings.Cut(parts[i], "?"); seemsRandom(part) {
			parts[i] = strings.Replace(parts[i], part, tenant.Redacted, 1)
		}
		parts[i] = replace(knownForms, parts[i], nil)
	}
	return strings.Join(parts, "/")
}

// seemsRandom reports whether a text looks generated by a program.
func seemsRandom(s string) bool {
	return uuid.MatchString(s) ||
		random.MatchString(s) && strings.ContainsAny(s, "0123456789") &&
			strings.ContainsAny(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") &&
			strings.Count(s, "-")+strings.Count(s, "_") <= len(s)/16
}

// replace masks the secret in each match whose name such accepts. A nil such accepts every match.
func replace(re *regexp.Regexp, s string, match func(name string) bool) string {
	name, secret := re.SubexpIndex("name"), re.SubexpIndex("secret")
	var b strings.Builder
	for {
		m := re.FindStringSubmatchIndex(s)
		if m == nil {
			return b.String() + s
		}
		from, to := m[2*secret], m[2*secret+1]
		b.WriteString(s[:from])
		if match == nil || match(s[m[2*name]:m[2*name+1]]) {
			b.WriteString(masked(s[from:to]))
			from = to
		}
		// A value that is not secret may contain another name and value.
		s = s[from:]
	}
}

var variable = regexp.MustCompile(`\$\{env:[A-Za-z_][A-Za-z0-9_]*(?::-` + tenant.Redacted + `)?\}`)

// masked returns the replacement for a value. It keeps the variables in the value. Of the rest it
// shows only that there is one.
func masked(s string) string {
	rest := variable.ReplaceAllString(s, "")
	switch rest = strings.Trim(rest, " "); {
	case rest == "", rest == tenant.Redacted, strings.EqualFold(rest, "Bearer"),
		strings.EqualFold(rest, "Basic"):
		return s
	}
	return strings.Join(append(variable.FindAllString(s, -1), tenant.Redacted), "")
}

// word splits a name into words: at characters that are neither letters nor digits, and before
// capitals.
var word = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z0-9]+`)

// secretSuffixes are the endings of words for credentials. harmlessLast are the last words of names
// that say where a credential is, or something else about it.
var (
	secretSuffixes = []string{
		"token", "secret", "secrets", "password", "passwd", "passphrase", "pwd", "credential",
		"credentials", "apikey", "accesskey", "secretkey", "privatekey", "authorization", "cookie", "jwt",
	}
	harmlessLast = []string{
		"file", "path", "dir", "env", "url", "uri", "name", "id", "type", "ttl", "timeout",
	}
)

// passwordFlags are flags of one letter that many programs use for a password. Some programs use
// them for a port, but that does not justify printing passwords.
var passwordFlags = map[string]bool{"-p": true, "-P": true}

// secretName reports whether a name is that of a credential, and not of the place of a
// credential.
func secretName(name string) bool {
	if passwordFlags[name] {
		return true
	}
	words := word.FindAllString(name, -1)
	if len(words) == 0 {
		return false
	}
	last := strings.ToLower(words[len(words)-1])
	if slices.Contains(harmlessLast, last) {
		return false
	}
	for _, w := range words {
		w = strings.ToLower(w)
		if slices.ContainsFunc(secretSuffixes, func(end string) bool {
			return strings.HasSuffix(w, end)
		}) {
			return true
		}
		switch w {
		case "pass", "pw", "auth", "bearer", "pat", "sig", "signature", "cred", "creds", "pin", "otp":
			return true
		}
	}
	return last == "key"
}
