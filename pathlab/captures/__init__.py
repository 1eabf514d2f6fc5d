"""Reads packet captures (pcap and pcapng) into arrays: records, headers, flows."""
