package experiment

// Quantity is one that a run can measure, and so one that an experiment can expect.
type Quantity struct {
	Name string // ends in its unit, if it has one
	Unit string // ms, s, or empty of what is counted
	Is   string // what it is, as a clause
}

// Quantities are all that there are, by name. Those that a kind of fault measures itself say of which.
var Quantities = []Quantity{
	{"admin_ms", "ms", "from the start of a host that has crashed again and again to an answer of its admin listener, of host.crash"},
	{"all_back_ms", "ms", "from the end of all processes of a tenant until each of its servers has one again, of children.kill"},
	{"beyond_ms", "ms", "how much of that is beyond the pauses that the host takes on purpose, of children.kill"},
	{"detect_ms", "ms", "from a fault to when the host has found it out: of a row that hangs, and of a server that is gone"},
	{"down_ms", "ms", "how long a server that was hit was gone"},
	{"end_ms", "ms", "from the end that was asked of a host to its end, of host.term, host.kill and host.crash"},
	{"orphans_ms", "ms", "from the end of a host to that of the last of its processes, of the same"},
	{"peak_starts", "", "how many processes of a tenant were started within a second at most, of children.kill"},
	{"ready_ms", "ms", "from the start of the next host until it is ready, of the same"},
	{"recovery_s", "s", "from the end of the last fault until the target's calls are as before"},
	{"restart_ms", "ms", "from the end of a row to its next incarnation, for rows that may restart"},
	{"return_s", "s", "how long clients took to be back, each with a stream and an answer, of client.return"},
}

// QuantityOf is the quantity of that name; false of one that no run measures.
func QuantityOf(name string) (Quantity, bool) {
	for _, q := range Quantities {
		if q.Name == name {
			return q, true
		}
	}
	return Quantity{}, false
}

func quantityNames() []string {
	names := make([]string, len(Quantities))
	for i, q := range Quantities {
		names[i] = q.Name
	}
	return names
}
