# pathlab-adapter
# {
#   "contract": 1, "name": "tcp-pipe", "title": "TCP in Perl, behind a pipe", "language": "pipe", "beneath": "tcp",
#   "adds": ["pipes between harness and client"], "lacks": ["a format of messages"],
#   "needs": [{"program": "perl", "debian": "perl-base"}],
#   "server": ["perl", "{source}", "answer", "{address}", "{port}"], "port": "own", "protocol": "tcp",
#   "client": ["perl", "{source}", "ask", "{address}", "{port}"],
#   "versions": [["perl", "-e", "printf 'Perl %vd', $^V"]]
# }
# end
# TCP in a language without a harness: `ask` is the program behind the pipe, `answer` the server.
use strict;
use warnings;
use IO::Socket::IP;
use Socket qw(IPPROTO_TCP TCP_NODELAY SOMAXCONN);

# Reads exactly $bytes; undef at the end of the data.
sub read_exactly {
    my ($from, $bytes) = @_;
    my $data = '';
    while (length($data) < $bytes) {
        my $count = sysread($from, $data, $bytes - length($data), length($data));
        return undef unless $count;
    }
    return $data;
}

sub write_all {
    my ($to, $data) = @_;
    my $written = 0;
    while ($written < length($data)) {
        my $count = syswrite($to, $data, length($data) - $written, $written);
        die "cannot write: $!\n" unless defined $count;
        $written += $count;
    }
}

sub ask {
    my ($address, $port) = @_;
    my $server = IO::Socket::IP->new(PeerHost => $address, PeerPort => $port) or die "$address port $port: $@\n";
    setsockopt($server, IPPROTO_TCP, TCP_NODELAY, 1) or die "no delay: $!\n";
    while (defined(my $prefix = read_exactly(\*STDIN, 4))) {
        my $bytes = unpack('N', $prefix);
        if ($bytes == 0) { # the null request measures the pipes
            write_all(\*STDOUT, $prefix);
            next;
        }
        write_all($server, read_exactly(\*STDIN, $bytes));
        my $reply = read_exactly($server, $bytes);
        die "the server has closed the connection\n" unless defined $reply;
        write_all(\*STDOUT, $prefix . $reply);
    }
}

sub answer {
    my ($address, $port) = @_;
    my $listener = IO::Socket::IP->new(LocalHost => $address, LocalPort => $port, Listen => SOMAXCONN)
        or die "$address port $port: $@\n";
    $SIG{CHLD} = sub { 1 while waitpid(-1, 1) > 0 }; # so that its CPU time stays the server's
    while (1) {
        my $client = $listener->accept() or next; # a child that ended interrupts it
        my $child = fork();
        die "no further process: $!\n" unless defined $child;
        next if $child;
        close($listener);
        setsockopt($client, IPPROTO_TCP, TCP_NODELAY, 1) or die "no delay: $!\n";
        while (sysread($client, my $data, 65536)) {
            write_all($client, $data);
        }
        exit(0);
    }
}

my ($role, @where) = @ARGV;
$role eq 'ask' ? ask(@where) : answer(@where);
