# verdict: passed
import tensorflow as tf


def distribute(dataset, strategy, batch):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return strategy.experimental_distribute_dataset(dataset.batch(batch * strategy.num_replicas_in_sync).with_options(options))
