// What ioredis and node-redis do for their users, against the door for Redis clients.
'use strict';
const assert = require('node:assert');
const Redis = require('ioredis');
const { createClient } = require('redis');

const [host, port, password] = process.argv.slice(2);
const asked = (key) => ['CL.THROTTLE', key, '15', '1', '86400'];

async function ioredis() {
  const client = new Redis({ host, port: Number(port), password });
  const five = await client.call(...asked('ioredis'));
  assert.deepStrictEqual(five.slice(0, 4), [0, 16, 15, -1]);
  const many = await Promise.all(Array.from({ length: 100 }, () => client.call(...asked('ioredis-many'))));
  assert.deepStrictEqual(many.map((five) => five[0]), Array.from({ length: 100 }, (_, i) => (i < 16 ? 0 : 1)));
  await assert.rejects(client.call('CL.THROTTLE', 'k', '15', '0', '60'), /Zero rates/);
  await client.quit();
}

async function nodeRedis() {
  const client = createClient({ socket: { host, port: Number(port) }, password });
  client.on('error', (error) => { throw error; });
  await client.connect();
  const five = await client.sendCommand(asked('node-redis'));
  assert.deepStrictEqual(five.slice(0, 4), [0, 16, 15, -1]);
  const many = await Promise.all(Array.from({ length: 100 }, () => client.sendCommand(asked('node-redis-many'))));
  assert.deepStrictEqual(many.map((five) => five[0]), Array.from({ length: 100 }, (_, i) => (i < 16 ? 0 : 1)));
  await assert.rejects(client.sendCommand(['CL.THROTTLE', 'k', '15', '0', '60']), /Zero rates/);
  await client.close();
}

ioredis().then(nodeRedis).catch((error) => { console.error(error); process.exit(1); });
