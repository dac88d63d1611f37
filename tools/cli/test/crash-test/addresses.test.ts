import { expect, test } from "vitest";
import { addressOf } from "../../src/crash-test/addresses.js";
import { addressesIn } from "../../src/crash-test/environment.js";

test.each([
  ["A", "mongodb://me:hidden@h1:27017,h2:27017/db?x=hidden", "mongodb://h1:27017,h2:27017"],
  ["A", "postgres://h1:5432,h2:5432/db", "postgres://h1:5432,h2:5432/db"],
  ["A", "jdbc:postgresql://prod:5432/db?password=hidden", "postgresql://prod:5432/db"],
  ["A", "jdbc:oracle:thin:me/hidden@prod:1521:x", "jdbc:oracle:…"],
  ["A", "me:hidden@tcp(prod:3306)/db", "tcp(prod:3306)"],
  ["A", "host=prod port=5432 dbname=x password=hidden", "host=prod port=5432 dbname=x"],
  ["A", "Server=prod;Database=x;Password=hidden", "Server=prod Database=x"],
  ["A", "kafka:9092", "kafka:9092"],
  ["A", "a.example.com:9092,10.0.0.1:9092", "a.example.com:9092,10.0.0.1:9092"],
  ["A", "  postgres://me:hidden@prod/app", "postgres://prod/app"],
  ["A", '"redis://me:hidden@prod:6379/1"', "redis://prod:6379/1"],
  ["A", "postgres://me:hid/den#?@prod/app", "postgres://…"],
  ["A", "postgres://me:12#hidden@prod/app", "postgres://…"],
  ["A", "postgres://me:hid den@prod/app", "postgres://…"],
  ["A", '{"uri":"amqp://me:hidden@prod/x"}', "amqp://prod"],
  ["A", "me:hidden@prod:5432/app", "prod:5432"],
  ["API_KEY", "me:12345", "…"],
  ["DB_HOST", "prod", "prod"],
  ["DB_HOST", "/var/run/postgresql", "/var/run/postgresql"],
  ["CACHE_HOSTS", "a,b", "a,b"],
  ["API_URL", "api.example.com/hidden", "api.example.com"],
  ["MONGO_URI", "prod", "prod"],
  ["DB_DSN", "me:hidden@/app", "…"],
  ["S3_ENDPOINT", "s3.example.com", "s3.example.com"],
  ["KAFKA_BROKERS", "a,b", "a,b"],
  ["NATS_SERVERS", "a b", "a"],
  ["VAULT_ADDR", "vault", "vault"],
  ["NODE_ADDRESS", "10.0.0.1", "10.0.0.1"],
  ["MYSQLHOST", "prod", "prod"],
  ["REDISHOST", "prod", "prod"],
  ["MONGOHOST", "prod", "prod"],
  ["DBHOST", "prod", "prod"],
  ["RDS_HOSTNAME", "prod", "prod"],
  ["DATABASE_HOSTNAME", "prod", "prod"],
  ["LDAP_HOSTNAME", "prod", "prod"],
  ["CASSANDRA_CONTACT_POINTS", "10.0.0.1,10.0.0.2", "10.0.0.1,10.0.0.2"],
  ["ELASTICSEARCH_NODES", "es1,es2", "es1,es2"],
  ["SMTP_RELAY", "smtp.example.com", "smtp.example.com"],
  ["ORACLE_CONNECT_STRING", "//dbhost/PROD", "dbhost"],
  ["DB_CONNECT", "dbhost:1521/PROD", "dbhost:1521"],
  ["A", "dbhost:1521/PROD", "dbhost:1521"],
  ["MYSQL_UNIX_SOCKET", "/var/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock"],
  ["MQ_NODE", "rabbit@prod", "prod"],
  ["REPOSITORY", "git@github.com:me/app.git", "github.com:me"],
])("%s=%s contains an address, which is shown without secrets", (name, value, shown) => {
  expect(addressOf(name, value)).toBe(shown);
});

test.each([
  ["HOME", "/home/me"],
  ["PATH", "/usr/bin:/bin"],
  ["LS_COLORS", "rs=0:di=01;34:*.tar=01"],
  ["LANG", "en_US.UTF-8"],
  ["JOURNAL_STREAM", "8:12345"],
  ["DISPLAY", ":0"],
  ["EMAIL", "me@example.com"],
  ["BUS_ADDRESS", "unix:path=/run/user/1000/bus"],
  ["HOST", "0.0.0.0"],
  ["LISTEN_ADDR", ":8080"],
  ["USE_URL", "true"],
  ["MOST_HOSTS", "3"],
  ["SOME_URL", "file:///etc/hosts"],
  ["SOME_URI", "./app.db"],
  ["DB_URL", ""],
  ["HOSTNAME", "1f0c7d9e"],
  ["SSH_AUTH_SOCK", "/tmp/ssh-a/agent.1"],
  ["NOTIFY_SOCKET", "/run/systemd/notify"],
  ["NODE", "/usr/bin/node"],
  ["MOST_NODES", "3"],
  ["GREETING", "me@example.com:hello"],
  ["NOTE", "a://b"],
  ["PROGRAM", 'const server = "a";\nconst port = 1;'],
  ["PROGRAM", "(host) => { server = host }"],
  ["npm_config_registry", "https://registry.npmjs.org/"],
  ["HTTPS_PROXY", "http://proxy.example.com"],
])("%s=%s contains no address", (name, value) => {
  expect(addressOf(name, value)).toBeUndefined();
});

test("a variable of PostgreSQL that is removed is not an address of the environment", () => {
  expect(
    addressesIn({ PGHOST: "prod", PGHOSTADDR: "10.0.0.1" }, { through: [], stub: [] }),
  ).toEqual([]);
});
