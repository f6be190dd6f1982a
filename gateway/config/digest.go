package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest tells configurations apart: it is the same for two that say the same, however they are written, secrets included. It is short enough
// to be read out.
func (c *Config) Digest() string {
	h := sha256.New()
	h.Write(Print(c))
	for i := range c.Tenants {
		for _, s := range c.Tenants[i].Servers {
			fmt.Fprintf(h, "%q %q %s\n", c.Tenants[i].Name, s.Name, s.Identity()) // which has what is not printed
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
