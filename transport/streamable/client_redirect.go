package streamable

import (
	"net/http"
	"net/url"
)

// MaxRedirects is how many redirects of one request are followed.
const MaxRedirects = 3

// resolve makes the address of a redirect absolute: it is relative to that of the request (RFC 9110
// §10.2.2). One that is no address is left as it is.
func resolve(resp *http.Response, from *url.URL) {
	at := resp.Header.Get("Location")
	if at == "" {
		return
	}
	if to, err := from.Parse(at); err == nil {
		resp.Header.Set("Location", to.String())
	}
}

// redirect is where a response wants its request sent again as it is; nil for nowhere. That is
// followed within one origin only, because the request holds our credentials. Servers do so for
// the slash at the end of a path.
func (c *Client) redirect(resp *http.Response) *url.URL {
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || to.User != nil || origin(to) != origin(c.url) {
		return nil
	}
	to.Fragment, to.RawFragment = "", ""
	return to
}
