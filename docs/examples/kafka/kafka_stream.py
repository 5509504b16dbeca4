"""Sends what a crawl finds to a topic of Kafka, one message per batch (docs/stream.md).

KAFKA_SERVERS has the addresses of brokers, KAFKA_TOPIC the topic. It needs
`pip install confluent-kafka`.
"""

import os

from confluent_kafka import KafkaException, Producer

from webcrawl.crawl.outputs.stream import Stream


class KafkaStream(Stream):
    output = "kafka"

    def open(self, run):
        super().open(run)
        self.topic = os.environ.get("KAFKA_TOPIC", "webcrawl")
        self.producer = Producer(
            {
                "bootstrap.servers": os.environ["KAFKA_SERVERS"],
                "enable.idempotence": True,
                "compression.type": "zstd",
                "message.max.bytes": 8_000_000,  # one long page may be a batch of its own
                "message.timeout.ms": 20_000,
            }
        )

    def send(self, batch, lines):
        errors = []
        self.producer.produce(
            self.topic, lines, key=batch, on_delivery=lambda error, _: errors.append(error)
        )
        self.producer.flush()
        if errors != [None]:
            raise KafkaException(*errors)
