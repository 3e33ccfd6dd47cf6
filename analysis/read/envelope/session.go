package envelope

import (
	"cmp"
	"strings"

	"leakdiff/analysis/read/line"
)

// session is what the commands of a shell session say of the lines below them.
type session struct {
	// within is where the shell runs: what ssh or exec opened, until it ends.
	within line.Owner
	// pid is the process whose directory below /proc the shell is in.
	pid int
	// ran is where the last command ran: the headings that it prints are of there.
	ran Source
	// named is the source that the last command or heading names: a code block below it is of there.
	named Source
	// hosted is true if the next line is the name of the host.
	hosted bool
	// moment is that of the last line of date.
	moment moment
	// date is such a line, held back: above the next command it belongs to that.
	date   []byte
	dateAt place
	block  block
}

// printed takes a line of a shell session whose outputs are wanted.
func (s *source) printed(b []byte, at place) {
	t := trim(b)
	if len(t) == 0 {
		if s.open != nil {
			s.open.blankLine()
		}
		return
	}
	in := &s.session
	if in.block.see(t) { // the fence of a ticket
		if s.close(); in.block.fence == "" {
			in.named = Source{}
		}
		return
	}
	if m, ok := dateLine(t, s.to.cfg.Now); ok {
		in.moment, in.date, in.dateAt = m, append(in.date[:0], b...), at
		return
	}
	text := string(t[:min(len(t), maxPending)])
	command, ok := line.ReadCommand(text)
	if in.hosted && s.open != nil && (!ok || command.Owner.Host == text) && !strings.Contains(text, " ") {
		in.hosted, in.ran.Host, s.open.Source.Host = false, text, text
		return
	}
	if in.hosted = ok && command.Hosted; ok || s.open == nil {
		s.close()
		o := s.begins(KindOutput, at)
		o.Form, o.Source = FormCommand, in.named
		switch {
		case !ok: // a block or a paragraph below
		case command.Heading:
			o.Source = sourceOf(command, line.Owner{Host: in.ran.Host, Pod: in.ran.Pod, Namespace: in.ran.Namespace, Container: in.ran.Container})
			if o.Source.PID == 0 && o.Source.Program == "" && o.Source.Path == "" { // it names a host
				o.Source.PID, o.Source.Program = in.ran.PID, in.ran.Program
			}
		default:
			if command.Enters {
				in.pid = command.Owner.PID
			} else if command.Reads && command.Owner.PID == 0 {
				command.Owner.PID = in.pid
			}
			in.ran = sourceOf(command, in.within)
			o.Source = in.ran
		}
		in.named = o.Source
		if m, ok := dateLine([]byte(command.Date), s.to.cfg.Now); ok {
			in.moment = m
		}
		o.at(in.moment)
		switch {
		case command.Opens:
			in.within, in.pid = command.Owner, 0
		case command.Ends:
			in.within, in.pid = line.Owner{}, 0
		}
	}
	if len(in.date) > 0 && !ok {
		s.open.mark(in.dateAt)
		s.open.write(in.date, true)
	}
	in.date = in.date[:0]
	s.open.Headers++
	s.open.mark(at)
	s.open.write(b, true)
}

// sourceOf is the source of what a command prints in the shell of another one.
func sourceOf(c line.Command, within line.Owner) Source {
	o := c.Owner
	if !c.Remote && o.Pod == "" {
		o.Pod, o.Namespace, o.Container = within.Pod, within.Namespace, cmp.Or(o.Container, within.Container)
	}
	if within.Host != "" && !c.Remote {
		o.Host = within.Host
	}
	return Source{Program: o.Program, Host: o.Host, Namespace: o.Namespace, Pod: o.Pod, Container: o.Container, PID: o.PID, Path: o.Path, Port: o.Port}
}

// FormCommand is Section.Form of the output of a command.
const FormCommand = "output of a command"
