package stdio

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// role is the environment variable that turns this test binary into one of the servers below.
const role = "STDIO_TEST_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		roles[name]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// roles are servers, most of them faulty.
var roles = map[string]func(){
	"echo":     echo,
	"stubborn": stubborn,
	"deaf":     func() { hello(); sleep() },
	"flood":    flood,
	"eager":    eager,
	"quit":     func() { fmt.Fprintln(os.Stderr, "no database"); os.Exit(3) },
	"killed":   func() { syscall.Kill(os.Getpid(), syscall.SIGKILL); sleep() },
	"long": func() {
		say(`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 20<<20) + `"}`)
		sleep()
	},
	"large": func() {
		say(`{"jsonrpc":"2.0","method":"n","params":{"p":"` + strings.Repeat("x", 5<<20) + `"}}`)
		echo()
	},
	"half":    func() { os.Stdout.WriteString(`{"p":"` + strings.Repeat("x", 1<<20)); sleep() },
	"garbage": garbage,
	"babble": func() {
		for line := strings.Repeat("la", 8<<10) + "\n"; ; {
			say(line)
		}
	},
	"build": func() {
		say(strings.Repeat("npm warn deprecated\n", builds))
		hello()
		say(strings.Repeat("[1/300] compiling x.c\n", builds))
		hello()
		sleep()
	},
	"noise": func() {
		hello()
		switch os.Getenv("STDIO_TEST_ARG") {
		case "lines":
			os.Stdout.WriteString(strings.Repeat("\n", noise))
		case "long lines":
			os.Stdout.WriteString(strings.Repeat(strings.Repeat(" ", noise/5<<12)+"\n", 5))
		default:
			os.Stderr.Write(make([]byte, noise<<12))
		}
		hello()
		sleep()
	},
	"spaced": func() {
		os.Stdout.WriteString(strings.Repeat(`{"jsonrpc":"2.0","method":"n"}`+"\n\n", arrays))
		sleep()
	},
	"blank": func() { os.Stdout.WriteString(strings.Repeat("\n", 60_000)); os.Exit(3) },
	"arrays": func() {
		say(`{"jsonrpc":"2.0","method":"hello"}`)
		os.Stdout.WriteString(strings.Repeat(`[{"jsonrpc":"2.0","method":"n"}]`+"\n", arrays))
		sleep()
	},
	"mute": func() { os.Stdout.Close(); sleep() },
	"bite": func() { io.ReadFull(os.Stdin, make([]byte, 10)); os.Exit(1) },
	"earless": func() {
		hello()
		os.Stdin.Close()
		say(`{"jsonrpc":"2.0","method":"closed"}`)
		sleep()
	},
	"leave":      leave,
	"unreadable": unreadable,
	"complain":   complain,
	"hog":        hog,
	"endless":    endlessLine,
	"rant":       rant,
	"host":       host,
	"daemon":     daemon,
	"break off":  breakOff,
}

func say(line string) { os.Stdout.WriteString(line + "\n") }

// sleep keeps the process alive for longer than any test waits. For the runtime, a plain select{}
// would be a deadlock.
func sleep() {
	time.Sleep(time.Hour)
}

// noise is how many empty lines or parts of standard error the noisy server writes.
const noise = 100 * transport.PaceMost

// builds is how many lines a build prints.
const builds = 2000

// arrays is how many arrays, of one message each, a server writes that gets no requests.
const arrays = 200 * transport.PaceMost

// hello shows that main is running.
func hello() { say(`{"jsonrpc":"2.0","method":"hello"}`) }

// asksAtOnce is how many pings the eager server sends before it reads a response.
const asksAtOnce = 10_000

// eager sends all its pings before it reads.
func eager() {
	for id := range asksAtOnce {
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id))
	}
	answers := bufio.NewScanner(os.Stdin)
	for range asksAtOnce {
		if !answers.Scan() {
			os.Exit(1)
		}
	}
	say(`{"jsonrpc":"2.0","method":"done"}`)
	sleep()
}

// echo answers every request with its params.
func echo() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	var out []byte
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(bytes.TrimSpace(line), jsonrpc.Limits{Bytes: 32 << 20})
		if err != nil || m.Kind() != jsonrpc.KindRequest {
			continue
		}
		out = append(jsonrpc.Response(m.ID, m.Params).Append(out[:0]), '\n')
		os.Stdout.Write(out)
	}
}

func stubborn() {
	signal.Ignore(syscall.SIGTERM)
	hello()
	sleep()
}

func flood() {
	line := bytes.Repeat([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`+
		strings.Repeat("x", 200)+`"}}`+"\n"), 100)
	for {
		if _, err := os.Stdout.Write(line); err != nil {
			sleep()
		}
	}
}

func garbage() {
	say("\xef\xbb\xbf" + `{"jsonrpc":"2.0","method":"one"}` + "\r")
	say("npm notice New version of npm available!")
	say("")
	say("\x1b[32mready\x1b[0m")
	say("nul\x00nul")
	say(`{"jsonrpc":"2.0","id":7,"result":`)
	say(`{"level":"info"}`)
	say(`[{"jsonrpc":"2.0","method":"batched"}]`)
	say(`{"jsonrpc":"2.0","id":9,"outcome":{}}`)
	say(`{"jsonrpc":"2.0","method":"two"}`)
	os.Stdout.WriteString(`{"jsonrpc":"2.0","method":"three"}`) // the last line has no newline
}

// unreadable answers seven requests such that no client can read the responses.
func unreadable() {
	payload := strings.Repeat("x", 200_000)
	say(`{"jsonrpc":"2.0","id":1,"result":{"text":"` + payload + `"}}`)
	say(`{"result":"` + payload + `","jsonrpc":"2.0","id":2}`)
	say(`{"jsonrpc":"2.0","id":3,"result":{"a":1,a:2}}`)
	say(`{"result":{"a":1,a:2},"jsonrpc":"2.0","id":4}`)
	say(`{"jsonrpc":"2.0","id":5}`)
	say(`{"jsonrpc":"2.0","id":6,"result":{"x":` + strings.Repeat("[", 20_000) +
		strings.Repeat("]", 20_000) + `}}`)
	say(`{"result":{"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) +
		`},"jsonrpc":"2.0","id":7}`)
	say(`{"jsonrpc":"2.0","method":"end"}`)
}

// breakOff ends amid a response.
func breakOff() {
	os.Stdout.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"te`)
	os.Stderr.WriteString("no more\n")
	os.Exit(3)
}

// hog allocates all available memory.
func hog() {
	hello()
	for all := [][]byte{}; ; {
		all = append(all, bytes.Repeat([]byte{1}, 1<<20))
	}
}

// endlessBytes is the length of the endless line: the most that is read of a line before the
// connection is given up, with messages of up to 4 MiB.
const endlessBytes = endless * 4 << 20

func endlessLine() {
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range endlessBytes / len(chunk) {
		os.Stdout.Write(chunk)
	}
	say("")
	say(`{"jsonrpc":"2.0","method":"after"}`)
	sleep()
}

// rantLines is the number of lines that the ranting server writes to standard error first: 100 MiB.
const rantLines = 1 << 20

func rant() {
	line := []byte(strings.Repeat("y", 99) + "\n")
	lines := bytes.Repeat(line, 1024)
	for range rantLines / 1024 {
		os.Stderr.Write(lines)
	}
	echo()
}

// leave starts a process that keeps all three pipes open, and exits. ARG says whether that process
// ignores SIGTERM.
func leave() {
	script := "sleep 600"
	if os.Getenv("STDIO_TEST_ARG") == "stubborn" {
		script = "trap '' TERM; while :; do sleep 600; done"
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	say(`{"jsonrpc":"2.0","method":"left","params":{"pid":` + strconv.Itoa(cmd.Process.Pid) + `}}`)
	if os.Getenv("STDIO_TEST_STAY") != "" {
		io.Copy(io.Discard, os.Stdin)
	}
}

func complain() {
	os.Stderr.WriteString("first\r\nsecond\n")
	os.Stderr.WriteString(strings.Repeat("y", 100<<10) + "\nafter\n")
	os.Stderr.WriteString("unfinished")
	os.Exit(1)
}

// host starts a child as the daemon does, from a goroutine whose thread ends, prints its pid and
// waits to be killed.
func host() {
	s := NewSpawner(SpawnerOptions{})
	c, err := s.Start(context.Background(), Spec{
		Command: os.Args[0], Env: map[string]string{role: "stubborn"},
	})
	if err != nil {
		panic(err)
	}
	bufio.NewReader(c.Stdout()).ReadString('\n') // it ignores SIGTERM from now on
	fmt.Println(c.Pid())
	sleep()
}

// daemon is a process with a spawner of its own, as mcpd is. Each line of its input is a command:
// start with a shell script; patient likewise, with more time to end; run for a script that it
// waits for; stop for all that it has started; close. It answers each command with a line.
func daemon() {
	s := NewSpawner(SpawnerOptions{
		Instance: os.Getenv("STDIO_TEST_ARG"), Earlier: os.Getenv("STDIO_TEST_STAY"), Daemon: true,
		Starting: 64,
		Report:   func(r Remark) { fmt.Fprintln(os.Stderr, r.What, r.Count, r.Err) },
	})
	var running []*Child
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		verb, script, _ := strings.Cut(commands.Text(), " ")
		switch verb {
		case "start", "patient", "run":
			ladder := Ladder{EOF: 200 * time.Millisecond, Term: 200 * time.Millisecond}
			if verb == "patient" {
				ladder.Term = 3 * time.Second
			}
			c, err := s.Start(ctx, Spec{Command: "sh", Args: []string{"-c", script}, Ladder: ladder})
			must(err)
			if verb == "run" {
				<-c.Gone()
				exit, _ := c.Exit()
				fmt.Println(exit.Code, exit.Signal)
				continue
			}
			running = append(running, c)
			line, err := bufio.NewReader(c.Stdout()).ReadString('\n') // the script runs now
			must(err)
			fmt.Print(line)
		case "stop":
			for _, c := range running {
				must(c.Stop(ctx))
			}
			fmt.Println("stopped")
		case "close":
			must(s.Close(ctx))
			fmt.Println("closed")
		}
	}
}
