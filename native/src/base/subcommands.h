/* The subcommands: each parses its own flags (argv[0] is its name) and returns the exit status. */
#pragma once

int pl_send_main(int argc, char **argv);
int pl_receive_main(int argc, char **argv);
int pl_ping_main(int argc, char **argv);
int pl_echo_main(int argc, char **argv);
int pl_emulate_main(int argc, char **argv);
int pl_load_main(int argc, char **argv);
int pl_ask_main(int argc, char **argv);
int pl_calibrate_main(int argc, char **argv);
int pl_capture_main(int argc, char **argv);
