"""A Ray cluster of two nodes on loopback, run by a Python that has Ray: `python ray_nodes.py`.

It prints its address, and a line for each order that it has carried out: `remove` ends the second
node at once, with all its processes; `add` starts one in its place. It ends with its input.
"""

import sys

from ray.cluster_utils import Cluster

# which drones' disks each node has
DISKS = [{"drone-0": 1, "drone-1": 1, "drone-4": 1}, {"drone-2": 1, "drone-3": 1, "drone-5": 1}]
COMMON = {
    "num_cpus": 8,
    "node_ip_address": "127.0.0.1",
    "object_store_memory": 100 << 20,
    "include_dashboard": False,
}


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    head = COMMON | {"resources": DISKS[0]}
    cluster = Cluster(initialize_head=True, head_node_args=head)

    def add():
        return cluster.add_node(**COMMON, resources=DISKS[1])

    node = add()
    say(cluster.address)
    for line in sys.stdin:
        if line.strip() == "remove":
            cluster.remove_node(node, allow_graceful=False)
        else:
            node = add()
        say(line.strip())
    cluster.shutdown()


if __name__ == "__main__":
    main()
