# pathlab-adapter
# {"contract": 1, "name": "parrot", "title": "Lines of hexadecimal digits", "language": "pipe", "beneath": "tcp",
#  "baseline": "tcp-pipe", "adds": ["hexadecimal digits"], "needs": [{"program": "perl", "debian": "perl-base"}],
#  "server": ["perl", "{source}", "{address}", "{port}"], "client": ["perl", "{source}", "{address}", "{port}", "ask"],
#  "limits": [{"what": "messages above 4 KiB", "constraint": "message <= 4KiB"}]}
# end
# A technology in one file: its server returns each line; a client behind a pipe makes one of each request.
use strict;
use warnings;
use IO::Socket::IP;
use POSIX qw(WNOHANG);
use Socket qw(IPPROTO_TCP TCP_NODELAY);

my ($address, $port, $asks) = @ARGV;
$| = 1;
if ($asks) {
    my $server = IO::Socket::IP->new(PeerHost => $address, PeerPort => $port) or die "no server: $@\n";
    setsockopt($server, IPPROTO_TCP, TCP_NODELAY, 1) or die "no delay: $!\n";
    while ((read(STDIN, my $prefix, 4) // 0) == 4) {
        my $bytes = unpack('N', $prefix);
        my $reply = '';
        if ($bytes) {
            read(STDIN, my $request, $bytes) == $bytes or die "half a request\n";
            print $server unpack('H*', $request), "\n";
            $server->flush;
            chomp(my $line = <$server> // die "the server is gone\n");
            $reply = pack('H*', $line);
        }
        print $prefix, $reply;
    }
    exit 0;
}
my $listener = IO::Socket::IP->new(LocalHost => $address, LocalPort => $port, Listen => 16) or die "no port: $@\n";
$SIG{CHLD} = sub { 1 while waitpid(-1, WNOHANG) > 0 }; # so that the CPU time of children counts
while (1) {
    my $client = $listener->accept() or next; # a child that ended interrupts it
    next if fork();
    setsockopt($client, IPPROTO_TCP, TCP_NODELAY, 1) or die "no delay: $!\n";
    $client->autoflush(1);
    while (defined(my $line = <$client>)) { print $client $line; }
    exit 0;
}
