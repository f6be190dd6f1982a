package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest returns an identifier of the contents of a configuration, secrets included. Two files
// with the same contents have the same digest, however they are written. The digest is short
// enough to be read out.
func (c *Config) Digest() string {
	h := sha256.New()
	h.Write(Print(c))
	for i := range c.Tenants {
		for _, s := range c.Tenants[i].Servers {
			// Identity includes the values that Print leaves out.
			fmt.Fprintf(h, "%q %q %s\n", c.Tenants[i].Name, s.Name, s.Identity())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
