"""What redis-py does for its users, against the door for Redis clients."""
import sys

import redis

host, port, password = sys.argv[1], int(sys.argv[2]), sys.argv[3]
try:
    redis.Redis(host, port).ping()
    raise SystemExit("it was let in without the password")
except redis.AuthenticationError:
    pass
for protocol, left in [(2, 15), (3, 14)]:
    client = redis.Redis(host, port, protocol=protocol, password=password, client_name="me")
    assert client.ping()
    assert client.client_getname() in ("me", b"me")
    five = client.execute_command("CL.THROTTLE", "python", 15, 1, 86400)
    assert five[:4] == [0, 16, left, -1], five
    client.close()
client = redis.Redis(host, port, password=password)
pipeline = client.pipeline(transaction=False)
for _ in range(1000):
    pipeline.execute_command("CL.THROTTLE", "python-many", 99, 1, 86400)
answers = pipeline.execute()
assert [five[0] for five in answers] == [0] * 100 + [1] * 900, answers
try:
    client.execute_command("CL.THROTTLE", "python", 15, 0, 60)
    raise SystemExit("a rate of zero was taken")
except redis.ResponseError as error:
    assert "Zero rates" in str(error), error
assert client.ping()
